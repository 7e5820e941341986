"""Bring a database to the schema of this version, from code: there is no alembic.ini."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from service.errors import StoreUnavailable
from service.persistence.refusals import refusals
from service.shipped import shipped_path

# Any number that no other user of the same Postgres database locks: "stepcast" in ASCII.
_POSTGRES_LOCK = int.from_bytes(b"stepcast")
_SQLITE_WAIT_MILLISECONDS = 120_000


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema to `revision`, in one transaction; several processes may do so at once.

    Raises
    ------
    StoreUnavailable
        When the database is away, or newer than this version knows.
    """
    with _alone(engine) as connection:
        _refuse_newer(connection)
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the schema back to `revision`; ``base`` removes every table and what is in them."""
    with _alone(engine) as connection:
        _refuse_newer(connection)
        command.downgrade(_config(connection), revision)


def is_current(engine: Engine) -> bool:
    """Return whether the database has the newest schema that this version knows."""
    with refusals(), engine.connect() as connection:
        return standing(connection)[0]


def standing(connection: Connection) -> tuple[bool, str]:
    """Return whether the schema is current, and a sentence about it."""
    now = current(connection)
    if now == head():
        return True, f"schema {now}"
    if now is None or now in known():
        return False, f"The schema is {now or 'not there'}, not {head()}: run `stepcast db upgrade`."
    return False, _newer(now)


def current(connection: Connection) -> str | None:
    """Return the revision of the database's schema; None for an empty database."""
    return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """Return the newest revision that this version knows."""
    return known()[0]


@cache
def known() -> tuple[str, ...]:
    """Return every revision that this version knows, newest first."""
    return tuple(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(shipped_path("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    return config


def _refuse_newer(connection: Connection) -> None:
    now = current(connection)
    if now is not None and now not in known():
        raise StoreUnavailable(_newer(now))


def _newer(revision: str) -> str:
    return f"The schema is {revision}, which is newer than this version ({head()}): run the newer version of Stepcast."


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """Give a connection in the one transaction that may change the schema now."""
    wait = _sqlite_alone if engine.dialect.name == "sqlite" else _postgres_alone
    with refusals(), engine.connect() as connection, wait(connection):
        yield connection


@contextmanager
def _postgres_alone(connection: Connection) -> Iterator[None]:
    with connection.begin():
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_POSTGRES_LOCK})")
        # Waiting for a table behind a long query would hold up everyone behind us.
        connection.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
        yield


@contextmanager
def _sqlite_alone(connection: Connection) -> Iterator[None]:
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_SQLITE_WAIT_MILLISECONDS}")
    # Batch mode drops and renames tables; with keys enforced that would delete the rows that refer to them.
    # The pragma does nothing inside a transaction, and this connection is thrown away after.
    cursor.execute("PRAGMA foreign_keys = OFF")
    try:
        with connection.begin():  # IMMEDIATE: the others wait
            yield
            if broken := cursor.execute("PRAGMA foreign_key_check").fetchall():
                raise StoreUnavailable(f"The migration would leave {len(broken)} rows without what they refer to.")
    finally:
        connection.invalidate()
