"""A hot read outlives what happens to its connection, and is quiet about nothing."""

from __future__ import annotations

import threading

import psycopg
import pytest
from sqlalchemy import Connection

from service.errors import StoreUnavailable
from service.persistence.database import SqlDatabase, open_database
from service.persistence.hot_reads import HotConnection, HotReads, HotStatement
from service.persistence.token_store import SqlTokenStore

REVISION = HotStatement("revision", "SELECT revision FROM catalog_revision WHERE id = 1")
NAMED = HotStatement("named", "SELECT name FROM api_tokens WHERE name = :value")


class CutConnection:
    """Was fine when it was kept; raises when used again."""

    def __init__(self, working: HotConnection) -> None:
        self.working = working
        self.uses = 0
        self.closed = False

    def value(self, statement: HotStatement, parameter: str | None) -> str | None:
        self.uses += 1
        if self.uses > 1:
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return self.working.value(statement, parameter)

    def close(self) -> None:
        self.closed = True
        self.working.close()


def test_a_value_or_none(database: SqlDatabase) -> None:
    SqlTokenStore(database).create("it's é", ["read"])
    assert database.hot.value(REVISION) == "0"
    assert database.hot.value(NAMED, "it's é") == "it's é"
    assert database.hot.value(NAMED, "'; DROP TABLE api_tokens; --") is None


def test_a_kept_connection_that_was_cut_is_replaced(database: SqlDatabase) -> None:
    made: list[CutConnection] = []

    def connect() -> HotConnection:
        made.append(CutConnection(database.hot._connect()))
        return made[-1]

    hot = HotReads(connect)
    assert [hot.value(REVISION) for _ in range(4)] == ["0"] * 4
    assert len(made) == 4
    assert [connection.closed for connection in made] == [True, True, True, False]
    hot.close()
    assert made[-1].closed


def test_a_statement_that_cannot_be_answered_is_not_tried_for_ever(database: SqlDatabase) -> None:
    missing = HotStatement("missing", "SELECT revision FROM nowhere")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="stepcast db upgrade"):
            database.hot.value(missing)
    assert database.hot.value(REVISION) == "0"


def _backends(connection: Connection) -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    return int(connection.exec_driver_sql(query).scalar_one())


def test_threads_share_as_few_connections_as_they_need(database: SqlDatabase) -> None:
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(100):
                database.hot.value(REVISION)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(database.hot._idle) <= 4
    if database.engine.dialect.name == "postgresql":
        with database.reading() as connection:
            assert _backends(connection) <= 4


def test_a_connection_that_the_server_ended_is_replaced_before_it_is_used(postgres_url: str) -> None:
    victim, killer = open_database(postgres_url), open_database(postgres_url)
    with victim.writing() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    victim.hot.value(REVISION)
    with killer.reading() as connection:
        query = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
        connection.exec_driver_sql(f"{query} AND pid <> pg_backend_pid()").all()
    with victim.writing() as connection:
        assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() != pid
    assert victim.hot.value(REVISION) == "0"
    victim.close()
    killer.close()
