"""Custom entries: kept once, seen by every process at once, merged only when they moved."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from service.errors import CatalogEntryConflict
from service.persistence.catalog_source import MergedCatalogSource
from service.persistence.catalog_store import SqlCatalogStore
from service.persistence.database import SqlDatabase, open_database
from service.persistence.token_store import SqlTokenStore
from service.planning.stores import CustomEntry


class FakeCatalog:
    """Counts how often it is merged."""

    merges = 0

    def __init__(self, ids: tuple[str, ...] = ()) -> None:
        self.ids = ids

    def with_custom(self, documents: Iterable[tuple[str, Mapping[str, Any], int]]) -> FakeCatalog:
        type(self).merges += 1
        return FakeCatalog(tuple(str(document["id"]) for _, document, _ in documents))


def test_an_entry_comes_back_as_it_was_kept(database: SqlDatabase) -> None:
    store = SqlCatalogStore(database)
    document = {"id": "mine", "z": 1e22, "a": [1, 2.0, None, True, "é"]}
    assert store.add("accelerators", document) == CustomEntry("accelerators", document, 1)
    store.add("systems", {"id": "mine"})
    kept = store.entries()
    assert [(entry.kind, entry.document, entry.revision) for entry in kept] == [
        ("accelerators", document, 1),
        ("systems", {"id": "mine"}, 1),
    ]
    assert repr(kept[0].document) == repr(document)


def test_an_id_is_taken_once_and_a_conflict_moves_nothing(database: SqlDatabase) -> None:
    store = SqlCatalogStore(database)
    store.add("systems", {"id": "mine"})
    before = store.revision()
    with pytest.raises(CatalogEntryConflict) as refusal:
        store.add("systems", {"id": "mine", "other": 1})
    assert refusal.value.problems[0].pointer == "/id"
    assert store.revision() == before
    assert len(store.entries()) == 1


def test_the_revision_moves_in_every_process_at_once(database: SqlDatabase, database_url: str) -> None:
    other = open_database(database_url)
    here, there = SqlCatalogStore(database), SqlCatalogStore(other)
    for number in range(1, 4):
        here.add("systems", {"id": f"from here {number}"})
        assert there.revision() == here.revision() == 2 * number - 1
        there.add("systems", {"id": f"from there {number}"})
        assert there.revision() == here.revision() == 2 * number
    other.close()


def test_the_catalogue_is_merged_only_when_it_moved(database: SqlDatabase) -> None:
    store = SqlCatalogStore(database)
    shipped: Any = FakeCatalog()
    source = MergedCatalogSource(shipped, store)
    before = FakeCatalog.merges
    assert source.current() is shipped
    store.add("systems", {"id": "mine"})
    merged: Any = source.current()
    assert merged.ids == ("mine",)
    assert source.current() is merged
    store.add("systems", {"id": "more"})
    again: Any = source.current()
    assert again.ids == ("mine", "more")
    assert FakeCatalog.merges - before == 2


def test_threads_see_what_was_added_before_they_asked(database: SqlDatabase) -> None:
    store = SqlCatalogStore(database)
    shipped: Any = FakeCatalog()
    source = MergedCatalogSource(shipped, store)
    missed: list[str] = []

    def add_and_look(writer: int) -> None:
        for number in range(5):
            entry_id = f"{writer}-{number}"
            store.add("systems", {"id": entry_id})
            catalog: Any = source.current()
            if entry_id not in catalog.ids:
                missed.append(entry_id)

    threads = [threading.Thread(target=add_and_look, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missed == []
    assert store.revision() == len(store.entries()) == 30


def test_a_token_is_accepted_by_its_text_and_kept_by_its_hash(database: SqlDatabase, database_url: str) -> None:
    tokens = SqlTokenStore(database)
    assert not tokens.any()
    token = tokens.create("ci", ["write", "read", "read"])
    assert tokens.any()
    assert tokens.accepts(token) == {"read", "write"}
    assert [tokens.accepts(wrong) for wrong in (token[:-1], token + "x", "", "\x00", "é", "\udc80")] == [None] * 6
    other = open_database(database_url)
    assert SqlTokenStore(other).accepts(token) == {"read", "write"}
    with other.reading() as connection:
        [row] = connection.exec_driver_sql("SELECT * FROM api_tokens").all()
    assert token not in map(str, row)
    other.close()
