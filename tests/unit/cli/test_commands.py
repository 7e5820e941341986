"""The `stepcast` command, up to where gunicorn would start."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from service.settings import VARIABLES


@pytest.fixture(name="environ")
def _environ(tmp_path: Path) -> dict[str, str]:
    return {"STEPCAST_DATABASE_URL": f"sqlite:///{tmp_path / 'data' / 'stepcast.db'}"}


def run(environ: dict[str, str], *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env={variable.name: "" for variable in VARIABLES} | environ)


def test_help_lists_every_variable() -> None:
    page = run({}, "serve", "--help").output
    assert all(variable.name in page for variable in VARIABLES)


def test_a_bad_variable_stops_the_start_with_one_line(environ: dict[str, str]) -> None:
    result = run(environ | {"STEPCAST_THREADS": "many"}, "serve")
    assert result.exit_code == 1
    assert result.output == "Error: STEPCAST_THREADS='many': give a whole number from 1 to 64\n"
    assert run(environ, "serve", "--port", "http").output.startswith("Error: STEPCAST_PORT='http'")


def test_an_open_service_does_not_start_on_other_addresses(environ: dict[str, str]) -> None:
    result = run(environ, "serve", "--host", "0.0.0.0")
    assert result.exit_code == 1
    for way in ("STEPCAST_API_TOKENS", "stepcast token create", "STEPCAST_ALLOW_OPEN=1"):
        assert way in result.output


def test_the_database_is_brought_up_to_date(environ: dict[str, str]) -> None:
    for _ in range(2):
        result = run(environ, "db", "upgrade")
        assert result.exit_code == 0
        assert result.output.startswith("schema ")


def test_a_token_is_printed_once(environ: dict[str, str]) -> None:
    result = run(environ, "token", "create", "--name", "ci", "--scope", "read")
    assert result.exit_code == 0
    assert len(result.output.split()) == 1
    assert len(result.output) > 30
    assert run(environ, "token", "create", "--name", "ci", "--scope", "admin").exit_code == 2


def test_a_database_that_cannot_be_used_is_one_line(environ: dict[str, str]) -> None:
    result = run({"STEPCAST_DATABASE_URL": "sqlite:////proc/nowhere/stepcast.db"}, "db", "upgrade")
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert len(result.output.splitlines()) == 1
    assert run({"STEPCAST_DATABASE_URL": "sqlite://"}, "db", "upgrade").output.startswith(
        "Error: STEPCAST_DATABASE_URL"
    )
