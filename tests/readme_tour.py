"""The curl tour of the README: its commands run against a service, and their output put in, or compared.

python -m tests.readme_tour      writes the output into README.md (make tour)
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from tests.serving import Service

README = Path(__file__).parents[1] / "README.md"
_BLOCK = re.compile(r"(?<=```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_PORT = "localhost:8000"


def with_output(readme: str) -> str:
    """Return the README with the output that each command of its console blocks gives now."""
    with tempfile.TemporaryDirectory() as folder, Service(f"sqlite:///{folder}/tour.db") as service:

        def answered(block: re.Match[str]) -> str:
            commands = [line for line in block[0].splitlines() if line.startswith("$ ")]
            return "".join(f"{command}\n{_run(command[2:], service.port)}" for command in commands)

        return _BLOCK.sub(answered, readme)


def _run(command: str, port: int) -> str:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace(_PORT, f"localhost:{port}")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if done.returncode not in (0, 141) or done.stderr:  # 141: `head` had enough
        raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout if done.stdout.endswith("\n") else done.stdout + "\n"


if __name__ == "__main__":
    README.write_text(with_output(README.read_text(encoding="utf-8")), encoding="utf-8")
