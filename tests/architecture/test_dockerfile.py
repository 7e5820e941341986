"""The image is built from what the wheel needs, and runs as nobody in particular: read off the Dockerfile."""

from __future__ import annotations

import json
import re
import tomllib

from service.cli import main
from service.settings import Settings
from tests.architecture.sources import ROOT

TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
INSTRUCTIONS = [(word, rest) for word, _, rest in (line.partition(" ") for line in TEXT.splitlines()) if word.isupper()]
BUILD, RUN = (
    INSTRUCTIONS[: [word for word, _ in INSTRUCTIONS].index("FROM", 1)],
    INSTRUCTIONS[[word for word, _ in INSTRUCTIONS].index("FROM", 1) :],
)


def only(word: str) -> str:
    (rest,) = (rest for found, rest in RUN if found == word)
    return rest


def test_it_starts_the_command_that_there_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    program, command = json.loads(only("CMD"))
    assert project["scripts"][program] == "service.cli:main"
    assert command in main.commands


def test_it_runs_as_a_number_that_is_not_root() -> None:
    assert re.fullmatch(r"[1-9]\d{3,}(:[1-9]\d{3,})?", only("USER"))


def test_it_is_watched() -> None:
    assert "/healthz" in only("HEALTHCHECK")
    assert "CMD" in only("HEALTHCHECK")


def test_its_variables_are_settings() -> None:
    variables = dict(re.findall(r"(STEPCAST_\w+)=(\S+)", " ".join(rest for word, rest in RUN if word == "ENV")))
    settings = Settings.from_environ(variables)
    assert settings.host == "0.0.0.0"
    assert not settings.on_loopback
    assert not settings.allow_open
    assert str(settings.port) == only("EXPOSE")
    assert settings.database_url.startswith(f"sqlite:///{only('VOLUME')}/")


def test_everything_installed_is_locked() -> None:
    installs = [rest for word, rest in INSTRUCTIONS if word == "RUN" and "pip install" in rest]
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or "--no-index" in install


def test_it_copies_what_the_wheel_is_made_of() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = config["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", config["project"]["readme"], *config["project"]["license-files"], *wheel["packages"]}
    needed |= set(wheel["force-include"])
    copied = {name for word, rest in BUILD if word == "COPY" for name in rest.split()[:-1]}
    assert needed <= copied
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    assert copied | {"requirements.txt"} == sent
