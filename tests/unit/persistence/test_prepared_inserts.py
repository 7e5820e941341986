from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, insert, select

from service.persistence.database import SqlDatabase
from service.persistence.prepared_inserts import PreparedInserts
from service.persistence.tables import api_tokens, catalog_entries


def _rows() -> list[dict[str, Any]]:
    moment = datetime(2026, 12, 1, 12, 30, 0, 123456, timezone(timedelta(hours=2)))
    return [
        {"id": str(uuid4()), "name": "é", "sha256": uuid4().hex, "scopes": "read", "created_at": moment},
        {
            "kind": "systems",
            "id": uuid4().hex,
            "document": {"z": 1.0, "a": ["é", None, 1e22]},
            "revision": 1,
            "created_at": moment,
            "updated_at": moment,
        },
    ]


def test_rows_are_kept_as_core_would_keep_them(database: SqlDatabase) -> None:
    inserts = PreparedInserts(database.engine.dialect, api_tokens, catalog_entries)
    by_core, by_us = _rows(), _rows()
    with database.writing() as connection:
        for table, row in zip((api_tokens, catalog_entries), by_core, strict=True):
            connection.execute(insert(table), row)
    with database.writing_at_once() as connection:
        inserts.execute(connection, inserts.spelled(*by_us))
    with database.reading() as connection:
        for table, ours, cores in zip((api_tokens, catalog_entries), by_us, by_core, strict=True):
            for expected in (ours, cores):
                kept = connection.execute(select(table).where(table.c.id == expected["id"])).one()
                assert kept._mapping == expected
        assert kept.created_at.tzinfo is UTC


@pytest.mark.parametrize("url", ["sqlite://", "postgresql+psycopg://"])
def test_postgres_is_told_in_one_statement(url: str) -> None:
    dialect = create_engine(url).dialect
    spelled = PreparedInserts(dialect, api_tokens, catalog_entries).spelled(*_rows())
    assert len(spelled) == (1 if dialect.name == "postgresql" else 2)
