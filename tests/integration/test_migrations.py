"""The schema: made, unmade, the same as the tables say, and changed by one process at a time."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect

from service.errors import StoreUnavailable
from service.persistence import migrations
from service.persistence.catalog_store import SqlCatalogStore
from service.persistence.database import open_database
from service.persistence.tables import metadata


def test_upgraded_schema_is_what_the_tables_say(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    migrations.upgrade(database.engine)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    assert migrations.is_current(database.engine)
    assert database.ready() == (True, f"schema {migrations.head()}")
    database.close()


def test_every_step_goes_back_and_forth(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    for revision in reversed(migrations.known()):
        migrations.upgrade(database.engine, revision)
        migrations.downgrade(database.engine, "-1")
        migrations.upgrade(database.engine, revision)
    migrations.downgrade(database.engine, "base")
    assert set(inspect(database.engine).get_table_names()) <= {"alembic_version"}
    migrations.upgrade(database.engine)
    assert SqlCatalogStore(database).revision() == 0
    database.close()


def test_a_new_database_is_not_ready_and_says_what_to_do(empty_database_url: str) -> None:
    database = open_database(empty_database_url)
    ready, why = database.ready()
    assert not ready
    assert "stepcast db upgrade" in why
    with pytest.raises(StoreUnavailable, match="stepcast db upgrade"):
        SqlCatalogStore(database).revision()
    database.close()


def test_a_database_of_a_newer_version_is_left_alone(database_url: str) -> None:
    database = open_database(database_url)
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreUnavailable, match="9999, which is newer"):
        migrations.upgrade(database.engine)
    ready, why = database.ready()
    assert (ready, "newer" in why) == (False, True)
    assert not migrations.is_current(database.engine)
    database.close()


def _upgrade(url: str, barrier: Barrier) -> None:
    database = open_database(url)
    barrier.wait()
    migrations.upgrade(database.engine)


def test_four_replicas_upgrade_at_once(empty_database_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(4)
    replicas = [spawn.Process(target=_upgrade, args=(empty_database_url, barrier)) for _ in range(4)]
    for replica in replicas:
        replica.start()
    for replica in replicas:
        replica.join(60)
    assert [replica.exitcode for replica in replicas] == [0, 0, 0, 0]
    database = open_database(empty_database_url)
    assert migrations.is_current(database.engine)
    database.close()


def test_a_failed_upgrade_leaves_nothing_behind(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(empty_database_url)

    def upgrade_then_fail(*_: object) -> None:
        upgrade(*_)
        raise RuntimeError("the power went")

    upgrade = command.upgrade
    monkeypatch.setattr(command, "upgrade", upgrade_then_fail)
    with pytest.raises(RuntimeError, match="power"):
        migrations.upgrade(database.engine)
    assert inspect(database.engine).get_table_names() == []
    database.close()


def test_the_folder_of_a_sqlite_file_is_made(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/a folder/with 100%/stepcast.db")
    migrations.upgrade(database.engine)
    assert (tmp_path / "a folder/with 100%/stepcast.db").is_file()
    database.close()
