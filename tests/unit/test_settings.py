"""Every variable is a row: parsed once, refused in one line."""

from __future__ import annotations

from dataclasses import fields

import pytest

from service.settings import VARIABLES, InvalidSetting, Settings


def test_every_variable_is_a_field_with_help_and_a_default_that_parses() -> None:
    assert [variable.field for variable in VARIABLES] == [field.name for field in fields(Settings)]
    settings = Settings.from_environ({})
    assert (settings.host, settings.port, settings.threads) == ("127.0.0.1", 8000, 2)
    assert settings.workers >= 1
    assert settings.database_url.startswith("sqlite:///")
    assert all(variable.help.endswith((".", "]", "…")) for variable in VARIABLES)


def test_variables_are_parsed() -> None:
    settings = Settings.from_environ(
        {
            "STEPCAST_PORT": " 9000 ",
            "STEPCAST_ALLOW_OPEN": "Yes",
            "STEPCAST_API_TOKENS": "full-token, reader-token=read ,both-token=read+write,",
            "STEPCAST_SQLITE_SYNCHRONOUS": "normal",
            "STEPCAST_DATABASE_URL": "postgresql+psycopg://u:p@h/db",
            "STEPCAST_HOST": "",
        }
    )
    assert (settings.port, settings.allow_open, settings.sqlite_synchronous) == (9000, True, "NORMAL")
    assert settings.host == "127.0.0.1"
    assert settings.api_tokens == {
        "full-token": {"read", "write"},
        "reader-token": {"read"},
        "both-token": {"read", "write"},
    }


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STEPCAST_PORT", "0"),
        ("STEPCAST_PORT", "65536"),
        ("STEPCAST_PORT", "http"),
        ("STEPCAST_WORKERS", "-1"),
        ("STEPCAST_THREADS", "2.5"),
        ("STEPCAST_MAX_BODY_BYTES", "9" * 30),
        ("STEPCAST_ALLOW_OPEN", "maybe"),
        ("STEPCAST_LOG_LEVEL", "LOUD"),
        ("STEPCAST_SQLITE_SYNCHRONOUS", "OFF"),
        ("STEPCAST_HOST", "two words"),
    ],
)
def test_a_bad_variable_is_named_with_its_value(variable: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{variable}='{value}': give "):
        Settings.from_environ({variable: value})


@pytest.mark.parametrize(
    ("variable", "secret"),
    [
        ("STEPCAST_API_TOKENS", "short"),
        ("STEPCAST_API_TOKENS", "secret-token=admin"),
        ("STEPCAST_DATABASE_URL", "mysql://me:secret@h/db"),
    ],
)
def test_secrets_are_not_repeated(variable: str, secret: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.from_environ({variable: secret})
    assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "on_loopback"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_is_known(host: str, on_loopback: bool) -> None:
    assert Settings.from_environ({"STEPCAST_HOST": host}).on_loopback is on_loopback


def test_a_given_database_needs_no_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's user may have none; then only the default, which lies in it, cannot be made."""

    def homeless() -> str:
        raise RuntimeError("Could not determine home directory.")

    variable = next(v for v in VARIABLES if v.name == "STEPCAST_DATABASE_URL")
    others = tuple(v for v in VARIABLES if v is not variable)
    monkeypatch.setattr("service.settings.VARIABLES", (*others, variable._replace(default=homeless)))
    assert Settings.from_environ({"STEPCAST_DATABASE_URL": "sqlite:////tmp/x.db"}).database_url == "sqlite:////tmp/x.db"
