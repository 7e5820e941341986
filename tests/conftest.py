"""The shipped catalogue, and databases: a test that wants one runs on SQLite and on a real Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.persistence import migrations
from service.persistence.database import SqlDatabase, open_database
from tests.postgres_server import PostgresServer

_numbers = count(1)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """What is shipped."""
    return load_shipped_catalog()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for the whole run."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def empty_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A Postgres database without tables."""
    name = f"empty_{next(_numbers)}"
    postgres.execute(f"CREATE DATABASE {name}")
    yield postgres.url(name)
    postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'stepcast.db'}"
    return str(request.getfixturevalue("empty_postgres_url"))


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A migrated database to copy: quicker than migrating each."""
    postgres.execute("CREATE DATABASE migrated")
    database = open_database(postgres.url("migrated"))
    migrations.upgrade(database.engine)
    database.close()
    return "migrated"


@pytest.fixture
def postgres_url(postgres: PostgresServer, postgres_template: str) -> Iterator[str]:
    """A migrated Postgres database of the test's own."""
    name = f"test_{next(_numbers)}"
    postgres.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield postgres.url(name)
    postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A migrated SQLite database of the test's own."""
    url = f"sqlite:///{tmp_path / 'stepcast.db'}"
    database = open_database(url)
    migrations.upgrade(database.engine)
    database.close()
    return url


@pytest.fixture(params=["sqlite_url", "postgres_url"], ids=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database of the test's own, of either kind."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def database(database_url: str) -> Iterator[SqlDatabase]:
    """It, open."""
    opened = open_database(database_url)
    yield opened
    opened.close()
