"""Open a database by its URL: SQLite for one machine, Postgres for several."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from select import select
from typing import Any, cast

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError

from service.errors import StoreFull, StoreUnavailable
from service.persistence import migrations
from service.persistence.hot_reads import HotReads, PostgresHotConnection, SqliteHotConnection
from service.persistence.refusals import refusals

BUSY_TIMEOUT_SECONDS = 20.0  # of SQLite: how long a write waits for those before it
POOL_TIMEOUT_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 0.02
_READS = "stepcast_reads"
_POSTGRES_ARGUMENTS = {
    "application_name": "stepcast",
    "connect_timeout": "5",
    "tcp_user_timeout": "20000",  # ms without an acknowledgement: the server is gone
    "keepalives_idle": "30",
}
_POSTGRES_TIMEOUTS = "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"


class SqlDatabase:
    """An open database: pooled connections, safe to keep across a fork."""

    def __init__(self, engine: Engine, reads: Engine, hot: HotReads) -> None:
        self.engine = engine
        self.hot = hot
        self._reads = reads
        self._of_parent: list[Any] = []
        os.register_at_fork(after_in_child=partial(_forget_parent, weakref.ref(self)))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection without a transaction: each statement sees the newest commit."""
        with refusals(), self._reads.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection in a transaction: all of it is durable when the block ends, or none."""
        with refusals(), self.engine.begin() as connection:
            yield connection

    def writing_at_once(self) -> AbstractContextManager[Connection]:
        """Give a connection for what is one statement on Postgres: a transaction without BEGIN and COMMIT."""
        return self.writing() if self.engine.dialect.name == "sqlite" else self.reading()

    def ready(self) -> tuple[bool, str]:
        """Return whether the database is reachable with the schema of this version, and why not."""
        try:
            with self.reading() as connection:
                return migrations.standing(connection)
        except (StoreUnavailable, StoreFull) as refusal:
            return False, refusal.detail

    def report_connections(self, report: Callable[[int, int], None]) -> None:
        """Have `report` told (in use, idle) of the pool whenever a connection is taken or given back."""
        engine = self.engine

        @event.listens_for(engine, "checkout")
        def taken(*_: Any) -> None:
            pool = cast(QueuePool, engine.pool)  # asked for each time: a fork replaces it
            report(pool.checkedout(), pool.checkedin())

        @event.listens_for(engine, "checkin")
        def given_back(*_: Any) -> None:  # told just before it is
            pool = cast(QueuePool, engine.pool)
            report(max(0, pool.checkedout() - 1), min(pool.size(), pool.checkedin() + 1))

    def close(self) -> None:
        """Close every idle connection; the next use opens anew."""
        self.hot.close()
        self.engine.dispose()

    def forget_parent(self) -> None:
        """Start with no connections in a forked child, and never close the parent's."""
        # Held on to, for a connection closes when it is collected.
        self._of_parent += [self.engine.pool, *self.hot.forget()]
        self.engine.dispose(close=False)


def _forget_parent(database: weakref.ref[SqlDatabase]) -> None:
    if (kept := database()) is not None:
        kept.forget_parent()


def open_database(url: str, *, sqlite_synchronous: str = "FULL", threads: int = 2) -> SqlDatabase:
    """Open the database at `url`; nothing is connected until first use.

    Parameters
    ----------
    url : str
        ``sqlite:///path`` or ``postgresql+psycopg://…`` (``postgresql://`` and ``postgres://`` mean the same).
    sqlite_synchronous : str
        FULL: a commit outlives a power loss. NORMAL: a crash of the process only, and is faster.
    threads : int
        How many threads of this process use it at once. [-]

    Raises
    ------
    ValueError
        When the URL is of neither kind.
    StoreUnavailable
        When the folder of the SQLite file cannot be made.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ValueError("not a database URL: give sqlite:///path/to/file.db or postgresql+psycopg://…") from None
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return _open_sqlite(parsed, sqlite_synchronous, threads)
    if parsed.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return _open_postgres(parsed, threads)
    raise ValueError(f"{parsed.drivername!r} databases are not supported: give sqlite:///… or postgresql+psycopg://…")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on. On a new file that several open at once, SQLite refuses without waiting."""
    give_up = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(_LOOK_AGAIN_SECONDS)


def _open_sqlite(url: URL, synchronous: str, threads: int) -> SqlDatabase:
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise ValueError("give a plain path to a file: a SQLite database in memory ends with its process")
    if synchronous not in ("FULL", "NORMAL"):
        raise ValueError(f"synchronous is FULL or NORMAL, not {synchronous!r}")
    path = Path(url.database).expanduser().absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"The folder of the database cannot be made: {error}.") from error
    engine = _engine(url.set(drivername="sqlite", database=str(path)), threads, {"timeout": BUSY_TIMEOUT_SECONDS})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # the driver would begin late, and without IMMEDIATE
        _write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and writes later would fail at once, not wait, when another wrote between.
        if not connection.get_execution_options().get(_READS):
            connection.connection.cursor().execute("BEGIN IMMEDIATE")

    reads = engine.execution_options(**{_READS: True})
    return SqlDatabase(engine, reads, HotReads(lambda: SqliteHotConnection(str(path), BUSY_TIMEOUT_SECONDS)))


def _open_postgres(url: URL, threads: int) -> SqlDatabase:
    options = " ".join([_POSTGRES_TIMEOUTS, *_listed(url.query.get("options", ()))])  # of two, the later counts
    url = url.set(drivername="postgresql+psycopg").update_query_dict({**_POSTGRES_ARGUMENTS, **url.query})
    url = url.update_query_dict({"options": options})
    engine = _engine(url, threads, {})

    @event.listens_for(engine, "checkout")
    def refuse_cut(connection: Any, record: Any, proxy: Any) -> None:
        # An idle connection has nothing to say unless the server or a proxy ended it. A round trip, as pool_pre_ping
        # makes, would say no more and take as long as a write; silent losses are found by tcp_user_timeout.
        if connection.closed or select([connection.fileno()], (), (), 0)[0]:
            raise DisconnectionError  # the pool replaces it, and its siblings

    _, arguments = engine.dialect.create_connect_args(url)
    reads = engine.execution_options(isolation_level="AUTOCOMMIT")
    return SqlDatabase(engine, reads, HotReads(lambda: PostgresHotConnection(arguments)))


def _engine(url: URL, threads: int, connect_args: dict[str, Any]) -> Engine:
    return create_engine(
        url,
        connect_args=connect_args,
        pool_size=threads,
        max_overflow=threads,
        pool_timeout=POOL_TIMEOUT_SECONDS,
        json_serializer=_to_json,
    )


def _listed(values: str | tuple[str, ...]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else values


_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
