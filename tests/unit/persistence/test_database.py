"""How a database is opened; what it does is tested in tests/integration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.errors import StoreUnavailable
from service.persistence.database import SqlDatabase, open_database


def _pragma(database: SqlDatabase, name: str) -> object:
    with database.reading() as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "stepcast.db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?uri=true",
        "mysql://host/x",
        "oracle://h/x",
    ],
)
def test_a_url_that_cannot_keep_scenarios_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="give"):
        open_database(url)


@pytest.mark.parametrize(("synchronous", "number"), [("FULL", 2), ("NORMAL", 1)])
def test_sqlite_is_set_to_keep_what_it_answered(tmp_path: Path, synchronous: str, number: int) -> None:
    database = open_database(f"sqlite:///{tmp_path}/new/stepcast.db", sqlite_synchronous=synchronous)
    assert _pragma(database, "journal_mode") == "wal"
    assert _pragma(database, "synchronous") == number
    assert _pragma(database, "foreign_keys") == 1
    assert _pragma(database, "busy_timeout") == 20_000
    database.close()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="folder"):
        open_database(f"sqlite:///{tmp_path}/file/stepcast.db")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgres_is_psycopg_with_time_limits(scheme: str) -> None:
    database = open_database(f"{scheme}://me:secret@host:1234/name?options=-c%20statement_timeout=1s&connect_timeout=2")
    arguments = database.engine.dialect.create_connect_args(database.engine.url)[1]
    assert database.engine.dialect.driver == "psycopg"
    assert (arguments["host"], arguments["port"], arguments["password"]) == ("host", 1234, "secret")
    assert arguments["connect_timeout"] == "2"
    assert arguments["options"].startswith("-c statement_timeout=30s")
    assert arguments["options"].endswith("-c statement_timeout=1s")  # of two, the later counts
    database.close()


def test_a_postgres_that_is_not_there_is_away() -> None:
    database = open_database("postgresql://127.0.0.1:1/nobody")
    ready, why = database.ready()
    assert (ready, "cannot be reached" in why) == (False, True)
    with pytest.raises(StoreUnavailable), database.writing():
        pass
    database.close()


def test_a_forked_child_has_connections_of_its_own(database: SqlDatabase) -> None:
    with database.reading() as connection:
        parents = connection.connection.driver_connection
    child = os.fork()
    if child == 0:
        with database.reading() as connection:
            os._exit(int(connection.connection.driver_connection is parents))
    assert os.waitpid(child, 0)[1] == 0
    with database.reading() as connection:
        assert connection.connection.driver_connection is parents
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def test_the_pool_tells_how_many_connections_it_has(sqlite_url: str) -> None:
    database = open_database(sqlite_url, threads=1)
    told: list[tuple[int, int]] = []
    database.report_connections(lambda in_use, idle: told.append((in_use, idle)))
    with database.reading(), database.reading():
        pass
    # taken, another beyond the one that is kept, one given back and kept, the other given back and closed
    assert told == [(1, 0), (2, 0), (1, 1), (0, 1)]
    database.forget_parent()  # as a fork does: a new pool, which tells as well
    with database.reading():
        pass
    assert told[4:] == [(1, 0), (0, 1)]
    database.close()
