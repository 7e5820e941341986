"""Which driver errors are the database's state, and which are bugs that must stay loud."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest
from psycopg import errors as postgres
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from service.errors import StoreFull, StoreUnavailable
from service.persistence.refusals import refusal_of, refusals


def _sqlite_error(code: int, message: str = "why") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        (_sqlite_error(sqlite3.SQLITE_BUSY), StoreUnavailable),
        (_sqlite_error(sqlite3.SQLITE_BUSY_SNAPSHOT), StoreUnavailable),
        (_sqlite_error(sqlite3.SQLITE_CANTOPEN), StoreUnavailable),
        (_sqlite_error(sqlite3.SQLITE_IOERR_FSYNC), StoreUnavailable),
        (_sqlite_error(sqlite3.SQLITE_READONLY), StoreUnavailable),
        (_sqlite_error(sqlite3.SQLITE_FULL), StoreFull),
        (_sqlite_error(sqlite3.SQLITE_ERROR, "no such table: scenarios"), StoreUnavailable),
        (postgres.DiskFull(), StoreFull),
        (postgres.AdminShutdown(), StoreUnavailable),
        (postgres.CannotConnectNow(), StoreUnavailable),
        (postgres.TooManyConnections(), StoreUnavailable),
        (postgres.LockNotAvailable(), StoreUnavailable),
        (postgres.QueryCanceled(), StoreUnavailable),
        (postgres.DeadlockDetected(), StoreUnavailable),
        (postgres.ReadOnlySqlTransaction(), StoreUnavailable),
        (postgres.InvalidPassword(), StoreUnavailable),
        (postgres.UndefinedTable(), StoreUnavailable),
        (psycopg.OperationalError("connection refused"), StoreUnavailable),
    ],
)
def test_a_state_of_the_database_is_a_refusal(error: Exception, refusal: type[Exception]) -> None:
    assert type(refusal_of(error)) is refusal
    with pytest.raises(refusal), refusals():
        raise error
    with pytest.raises(refusal), refusals():
        raise DBAPIError("SELECT 1", {}, error)


@pytest.mark.parametrize(
    "error",
    [
        _sqlite_error(sqlite3.SQLITE_ERROR, 'near "SELEC": syntax error'),
        sqlite3.IntegrityError("UNIQUE constraint failed"),
        postgres.SyntaxError(),
        postgres.UniqueViolation(),
        postgres.StringDataRightTruncation(),
        psycopg.ProgrammingError("the query has 1 placeholder"),
    ],
)
def test_a_bug_stays_what_it_is(error: Exception) -> None:
    assert refusal_of(error) is None
    with pytest.raises(type(error)), refusals():
        raise error
    with pytest.raises(DBAPIError), refusals():
        raise DBAPIError("SELECT 1", {}, error)


def test_a_full_sqlite_file_is_a_full_store(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'small.db'}")
    with engine.connect() as connection:
        connection.execute(text("PRAGMA max_page_count = 4"))
        connection.execute(text("CREATE TABLE kept (text)"))
        with pytest.raises(StoreFull), refusals():
            connection.execute(text("INSERT INTO kept VALUES (zeroblob(100000))"))
    engine.dispose()
