"""The reads that every request makes: one value, prepared once, on a connection of their own.

SQLAlchemy's pool and result rows cost more than such a read itself. SQLite answers from a cached statement; Postgres in
one round trip of a statement that libpq prepared. Both see what is committed now, so every worker agrees at once.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

from service.persistence.refusals import refusals


@dataclass(frozen=True, slots=True)
class HotStatement:
    """A query for one value; `:value` stands for its only parameter, if it has one."""

    name: str
    sql: str


class HotConnection(Protocol):
    """A connection that answers hot statements."""

    def value(self, statement: HotStatement, parameter: str | None) -> str | None:
        """Return the first column of the first row as text, or None when there is no row."""

    def close(self) -> None:
        """Let go of it."""


class SqliteHotConnection:
    """Autocommit: each read sees the newest commit of any process."""

    def __init__(self, path: str, busy_timeout_seconds: float) -> None:
        self._connection = sqlite3.connect(
            path, timeout=busy_timeout_seconds, isolation_level=None, check_same_thread=False
        )

    def value(self, statement: HotStatement, parameter: str | None) -> str | None:
        row = self._connection.execute(statement.sql, {"value": parameter}).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        self._connection.close()


class PostgresHotConnection:
    """libpq itself: half the time of a cursor."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._connection = psycopg.connect(**arguments, autocommit=True)
        self._prepared: set[str] = set()

    def value(self, statement: HotStatement, parameter: str | None) -> str | None:
        server = self._connection.pgconn
        name = statement.name.encode()
        if statement.name not in self._prepared:
            self._checked(server.prepare(name, statement.sql.replace(":value", "$1").encode()))
            self._prepared.add(statement.name)
        result = server.exec_prepared(name, None if parameter is None else [parameter.encode()])
        self._checked(result)
        value = result.get_value(0, 0) if result.ntuples else None
        return None if value is None else value.decode()

    def close(self) -> None:
        self._connection.close()

    @staticmethod
    def _checked(result: pq.abc.PGresult) -> None:
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise error_from_result(result)


class HotReads:
    """Keeps as many connections as threads read at once."""

    def __init__(self, connect: Callable[[], HotConnection]) -> None:
        self._connect = connect
        self._idle: deque[HotConnection] = deque()  # append and pop are atomic

    def value(self, statement: HotStatement, parameter: str | None = None) -> str | None:
        """Return the one value that the statement asks for.

        A kept connection that fails may only have been cut since its last use: the read is made once more on a new one.
        """
        with refusals():
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._read(self._connect(), statement, parameter)
            try:
                return self._read(connection, statement, parameter)
            except (psycopg.Error, sqlite3.Error):
                self.close()  # its siblings are as old
                return self._read(self._connect(), statement, parameter)

    def _read(self, connection: HotConnection, statement: HotStatement, parameter: str | None) -> str | None:
        try:
            value = connection.value(statement, parameter)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return value

    def close(self) -> None:
        """Close what is kept; the next read opens anew."""
        while self._idle:
            self._idle.pop().close()

    def forget(self) -> list[HotConnection]:
        """Give up what is kept without closing it: a fork's child must not speak on its parent's connections."""
        kept, self._idle = list(self._idle), deque()
        return kept
