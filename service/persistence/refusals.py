"""What a driver says, in the words of the house: the only place that reads driver error codes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from service.errors import StepcastError, StoreFull, StoreUnavailable

_SQLITE_SCHEMA = "no such "  # table, column
_POSTGRES_FULL = ("53100",)
_POSTGRES_SCHEMA = ("42P01", "42703", "3F000")
# Connection, resources, operator intervention, timeouts, deadlocks, a standby that only reads, a wrong password.
_POSTGRES_AWAY = ("08", "53", "57", "55P03", "40", "25006", "28", "3D000", "58")


@contextmanager
def refusals() -> Iterator[None]:
    """Turn errors of an unreachable, busy, outdated or full database into refusals; leave bugs as they are."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable("Every connection to the database is in use; try again.") from error
    except (DBAPIError, sqlite3.Error, psycopg.Error) as error:
        refusal = refusal_of(error.orig if isinstance(error, DBAPIError) else error)
        if refusal is None:
            raise
        raise refusal from error


def refusal_of(error: BaseException | None) -> StepcastError | None:
    """Return the refusal that a driver's error means, or None when it is not the database's fault."""
    if isinstance(error, psycopg.Error):
        return _postgres_refusal(error)
    if isinstance(error, sqlite3.Error):
        return _sqlite_refusal(error)
    return None


def _sqlite_refusal(error: sqlite3.Error) -> StepcastError | None:
    primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if primary_code == sqlite3.SQLITE_FULL:
        return StoreFull("The disk of the database is full; nothing was kept.")
    if primary_code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable("The database is busy with other writes; try again.")
    if primary_code == sqlite3.SQLITE_ERROR and str(error).startswith(_SQLITE_SCHEMA):
        return _outdated()
    if isinstance(error, sqlite3.OperationalError) and primary_code != sqlite3.SQLITE_ERROR:
        return StoreUnavailable(f"The database cannot be used: {error}.")
    if primary_code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreUnavailable(f"The database file cannot be read: {error}.")
    return None


def _postgres_refusal(error: psycopg.Error) -> StepcastError | None:
    state = error.sqlstate
    if state is None:  # never reached the server, or lost it
        gone = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return StoreUnavailable("The database cannot be reached; try again.") if gone else None
    if state in _POSTGRES_FULL:
        return StoreFull("The disk of the database is full; nothing was kept.")
    if state in _POSTGRES_SCHEMA:
        return _outdated()
    if state.startswith(_POSTGRES_AWAY):
        return StoreUnavailable("The database is away or too busy; try again.")
    return None


def _outdated() -> StoreUnavailable:
    return StoreUnavailable("The database's schema is not the one of this version: run `stepcast db upgrade`.")
