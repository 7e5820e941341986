"""Imports point down, and the contracts that say so bite."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    return subprocess.run(
        [*command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@pytest.fixture(name="copy")
def _copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "service", tmp_path / "service", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("core/numerics.py", "import flask", ["The core knows no framework"]),
        ("core/placement.py", "import time", ["The core knows no framework"]),
        ("core/collectives/ring.py", "import service.catalog.quantities", ["Imports point down"]),
        ("catalog/quantities.py", "import service.planning.estimates", ["Imports point down"]),
        ("http/formats.py", "import service.persistence.cursors", ["Imports point down"]),
        ("persistence/cursors.py", "import service.http.formats", ["Imports point down"]),
        ("settings.py", "import service.core.numerics", ["Settings, errors and shipped files"]),
        ("errors.py", "import service.core.numerics", ["Imports point down", "Settings, errors and shipped files"]),
    ],
)
def test_they_bite(copy: Path, module: str, line: str, broken: list[str]) -> None:
    path = copy / "service" / module
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    done = lint_imports(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = [found for found in done.stdout.splitlines() if found.endswith("BROKEN")]
    assert len(verdicts) == len(broken), done.stdout
    assert all(any(v.startswith(name) for v in verdicts) for name in broken), done.stdout
