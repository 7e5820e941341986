"""Every setting of the service: variable, default, one line of help. Read from the environment once, at the start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

ALL_SCOPES = frozenset({"read", "write"})
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


class InvalidSetting(Exception):
    """A variable that cannot be used. The process does not start."""

    def __init__(self, variable: str, value: str, why: str) -> None:
        super().__init__(f"{variable}={value!r}: {why}")


def _default_database_url() -> str:
    return f"sqlite:///{Path(platformdirs.user_data_dir('stepcast')) / 'stepcast.db'}"


def _database_url(text: str) -> str:
    if not re.match(r"(sqlite|postgres|postgresql)(\+\w+)?://", text):
        raise ValueError("give sqlite:///path/to/file.db or postgresql+psycopg://user:password@host/name")
    return text


def _count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", text) or not low <= int(text) <= high:
            raise ValueError(f"give a whole number from {low} to {high}")
        return int(text)

    return parse


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.upper() not in allowed:
            raise ValueError(f"give one of {', '.join(allowed)}")
        return text.upper()

    return parse


def _switch(text: str) -> bool:
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError("give 1 or 0")
    return text.lower() in _TRUE


def _tokens(text: str) -> Mapping[str, frozenset[str]]:
    """Read `token,token=read,token=read+write`; a token without scopes has them all."""
    tokens = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        token, _, scopes = item.partition("=")
        granted = frozenset(filter(None, scopes.split("+"))) or ALL_SCOPES
        if not re.fullmatch(r"[A-Za-z0-9._~+/-]{8,200}", token):
            raise ValueError("a token is 8 to 200 letters, digits or ._~+/-")
        if not granted <= ALL_SCOPES:
            raise ValueError("scopes are read and write, as in TOKEN=read or TOKEN=read+write")
        tokens[token] = granted
    return tokens


def _host(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9.:_-]+", text):
        raise ValueError("give an address or a host name")
    return text


class Variable(NamedTuple):
    """One row of the table below."""

    name: str
    default: str | Callable[[], str]
    help: str
    parse: Callable[[str], Any]
    secret: bool = False

    @property
    def field(self) -> str:
        """Name of the field of Settings."""
        return self.name.removeprefix("STEPCAST_").lower()


def usable_cores() -> int:
    """Return the cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


VARIABLES = (
    Variable(
        "STEPCAST_DATABASE_URL",
        _default_database_url,
        "Where scenarios are kept: a SQLite file under the user's data directory, or postgresql+psycopg://…",
        _database_url,
        secret=True,
    ),
    Variable("STEPCAST_HOST", "127.0.0.1", "Address to listen on; any but loopback needs a token.", _host),
    Variable("STEPCAST_PORT", "8000", "Port to listen on.", _count(1, 65535)),
    Variable("STEPCAST_WORKERS", lambda: str(usable_cores()), "Worker processes; one a core.", _count(1, 1000)),
    Variable(
        "STEPCAST_THREADS", "2", "Threads in a worker; more than 2 make the slowest answers slower.", _count(1, 64)
    ),
    Variable(
        "STEPCAST_API_TOKENS",
        "",
        "Bootstrap tokens, comma-separated: TOKEN, or TOKEN=read for one that may only read.",
        _tokens,
        secret=True,
    ),
    Variable("STEPCAST_ALLOW_OPEN", "0", "1 lets a service without any token answer on other addresses too.", _switch),
    Variable("STEPCAST_MAX_BODY_BYTES", "1000000", "Largest request body. [B]", _count(1_000, 1_000_000_000)),
    Variable(
        "STEPCAST_SQLITE_SYNCHRONOUS",
        "FULL",
        "FULL keeps every answered write through a power loss; NORMAL is faster and may lose the last ones.",
        _choice("FULL", "NORMAL"),
    ),
    Variable(
        "STEPCAST_LOG_LEVEL",
        "INFO",
        "INFO logs each request, WARNING what goes wrong only.",
        _choice("DEBUG", "INFO", "WARNING", "ERROR"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment said, parsed. Field names are those of the variables, without the prefix."""

    database_url: str
    host: str
    port: int
    workers: int
    threads: int
    api_tokens: Mapping[str, frozenset[str]]
    allow_open: bool
    max_body_bytes: int
    sqlite_synchronous: str
    log_level: str

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read every variable; an empty one counts as not given.

        Raises
        ------
        InvalidSetting
            Naming the variable, its value (unless it is a secret) and what would do.
        """
        fields = {}
        for variable in VARIABLES:
            text = environ.get(variable.name, "").strip()
            if not text:  # a default may need a home directory, which a given value does not
                text = variable.default() if callable(variable.default) else variable.default
            try:
                fields[variable.field] = variable.parse(text)
            except ValueError as why:
                raise InvalidSetting(variable.name, "…" if variable.secret else text, str(why)) from None
        return cls(**fields)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")
