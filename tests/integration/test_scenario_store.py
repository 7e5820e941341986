"""What is kept comes back, once, in order; a key is answered once; a page never skips or repeats."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import func, insert, select, update

from service.errors import IdempotencyConflict, InvalidScenario, ScenarioNotFound, StaleRevision
from service.persistence.database import SqlDatabase, open_database
from service.persistence.identifiers import new_id
from service.persistence.scenario_store import _TRACKED, SqlScenarioStore
from service.persistence.tables import evaluations, scenarios
from service.planning.scenarios import NewScenario, Scenario, ScenarioChanges, ScenarioFilter

EVERYTHING = ScenarioFilter()
INPUTS = {"system": "h100", "collective": "all_reduce", "gpus": 8, "size_bytes": 1_000_000}
ESTIMATE: dict[str, Any] = {
    "kind": "collective",
    "inputs": INPUTS | {"system": "dgx-h100"},
    "result": {"seconds": 1.5e-05, "zero": 0.0, "large": 1e22, "small": 5e-324, "text": "é ≤ 😀", "none": None},
    "derivation": [{"symbol": "z"}, {"symbol": "a"}],
    "engine_version": "0.1.0",
    "catalog_revision": "abc",
}
NEW = NewScenario("first", "collective", INPUTS, tags=("prod", "h100 é"), tracked=True, notes="why\nnot")


@pytest.fixture
def store(database: SqlDatabase) -> SqlScenarioStore:
    return SqlScenarioStore(database)


def _names(store: SqlScenarioStore, where: ScenarioFilter) -> list[str]:
    return [scenario.name for scenario in store.list(where, limit=100).items]


def test_a_scenario_comes_back_as_it_was_kept(store: SqlScenarioStore) -> None:
    kept, new = store.add(NEW, ESTIMATE)
    assert new
    assert (kept.name, kept.inputs, kept.tags, kept.tracked, kept.notes) == (
        "first",
        INPUTS,
        ("prod", "h100 é"),
        True,
        "why\nnot",
    )
    assert kept.revision == 1
    assert abs(kept.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert store.get(kept.id) == kept
    assert store.get(kept.id.upper()) == kept
    assert store.list(EVERYTHING, limit=10).items == [kept]
    assert store.evaluations(kept.id, limit=10).items == [kept.evaluation]


def test_an_estimate_is_kept_to_the_letter(store: SqlScenarioStore) -> None:
    kept, _ = store.add(NEW, ESTIMATE)
    assert repr(store.get(kept.id).evaluation.estimate) == repr(ESTIMATE)


@pytest.mark.parametrize("key", [None, "key"])
def test_a_scenario_is_kept_with_its_evaluation_or_not_at_all(store: SqlScenarioStore, key: str | None) -> None:
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        store.add(NEW, ESTIMATE | {"engine_version": None}, key)
    assert _names(store, EVERYTHING) == []
    _, new = store.add(NEW, ESTIMATE, key)
    assert new


@pytest.mark.parametrize("missing", ["", "no-id", str(uuid4()), "0" * 32, "x" * 36, "\x00", "é" * 36])
def test_an_unknown_id_names_no_scenario(store: SqlScenarioStore, missing: str) -> None:
    with pytest.raises(ScenarioNotFound):
        store.get(missing)
    with pytest.raises(ScenarioNotFound):
        store.evaluations(missing, limit=1)


def test_the_same_key_and_request_is_answered_by_the_first_answer(store: SqlScenarioStore) -> None:
    first, new = store.add(NEW, ESTIMATE, "key")
    later = ESTIMATE | {"catalog_revision": "moved"}
    again, new_again = store.add(replace(NEW, inputs=dict(reversed(INPUTS.items()))), later, "key")
    assert (new, new_again) == (True, False)
    assert again == first
    assert len(store.list(EVERYTHING, limit=10).items) == 1
    other, other_is_new = store.add(NEW, ESTIMATE, "another key " * 100)
    assert other_is_new
    assert other.id != first.id


def test_the_same_key_for_another_request_is_a_conflict(store: SqlScenarioStore) -> None:
    store.add(NEW, ESTIMATE, "key")
    with pytest.raises(IdempotencyConflict):
        store.add(replace(NEW, notes="changed"), ESTIMATE, "key")
    assert _names(store, EVERYTHING) == ["first"]


def test_one_of_many_simultaneous_retries_is_kept(store: SqlScenarioStore) -> None:
    start, answers = threading.Barrier(8), []

    def retry() -> None:
        start.wait()
        answers.append(store.add(NEW, ESTIMATE, "key"))

    threads = [threading.Thread(target=retry) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(new for _, new in answers) == [False] * 7 + [True]
    assert len({scenario.id for scenario, _ in answers}) == 1
    assert len(store.list(EVERYTHING, limit=10).items) == 1


def test_filters(store: SqlScenarioStore) -> None:
    model = ESTIMATE | {"inputs": {"system": {"id": "mine", "nodes": 1}, "model": "llama3-70b"}}
    store.add(NEW, ESTIMATE)
    store.add(replace(NEW, name="second", kind="storage", tags=("lab",)), model)
    store.add(replace(NEW, name="third", tags=()), ESTIMATE)
    assert _names(store, EVERYTHING) == ["third", "second", "first"]
    assert _names(store, ScenarioFilter(kind="collective")) == ["third", "first"]
    assert _names(store, ScenarioFilter(tag="h100 é")) == ["first"]
    assert _names(store, ScenarioFilter(tag="h100")) == []
    assert _names(store, ScenarioFilter(model="llama3-70b")) == ["second"]
    assert _names(store, ScenarioFilter(system="dgx-h100")) == ["third", "first"]
    assert _names(store, ScenarioFilter(system="mine")) == ["second"]
    assert _names(store, ScenarioFilter(name="third")) == ["third"]
    assert _names(store, ScenarioFilter(kind="collective", tag="prod", system="dgx-h100", name="first")) == ["first"]
    assert _names(store, ScenarioFilter(tag="'; DROP TABLE scenarios; --")) == []


def _pages(store: SqlScenarioStore, limit: int, where: ScenarioFilter = EVERYTHING) -> Iterator[list[Scenario]]:
    cursor = None
    while True:
        page = store.list(where, limit=limit, cursor=cursor)
        yield list(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return


@pytest.mark.parametrize("limit", [1, 3, 4, 12, 13])
def test_pages_hold_everything_once_newest_first(store: SqlScenarioStore, limit: int) -> None:
    names = [f"n{number}" for number in range(12)]
    for name in names:
        store.add(replace(NEW, name=name), ESTIMATE)
    pages = list(_pages(store, limit))
    assert [scenario.name for page in pages for scenario in page] == names[::-1]
    assert all(pages)  # a full last page is not followed by an empty one


def test_pages_neither_skip_nor_repeat_while_others_write(database: SqlDatabase) -> None:
    store = SqlScenarioStore(database)
    there = [store.add(replace(NEW, name=f"n{number}"), ESTIMATE)[0].id for number in range(30)]
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            store.add(replace(NEW, name="meanwhile"), ESTIMATE)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [scenario.id for page in _pages(store, 3) for scenario in page]
    finally:
        stop.set()
        writer.join()
    assert len(seen) == len(set(seen))
    assert [scenario_id for scenario_id in seen if scenario_id in there] == there[::-1]


def test_pages_go_on_where_the_last_item_was_deleted(database: SqlDatabase) -> None:
    store = SqlScenarioStore(database)
    ids = [store.add(NEW, ESTIMATE)[0].id for _ in range(4)]
    page = store.list(EVERYTHING, limit=2)
    with database.writing() as connection:
        connection.execute(scenarios.delete().where(scenarios.c.id == ids[2]))
        assert connection.execute(select(func.count()).select_from(evaluations)).scalar() == 3
    rest = store.list(EVERYTHING, limit=2, cursor=page.next_cursor)
    assert [scenario.id for scenario in rest.items] == [ids[1], ids[0]]


@pytest.mark.parametrize("cursor", ["", "x", "%%%", "c2NlbmFyaW9zOg", "é", "c2NlbmFyaW9zOng", "A" * 5000, "\x00"])
def test_a_cursor_of_another_make_is_refused(store: SqlScenarioStore, cursor: str) -> None:
    with pytest.raises(InvalidScenario) as refusal:
        store.list(EVERYTHING, limit=1, cursor=cursor)
    assert [problem.pointer for problem in refusal.value.problems] == ["/cursor"]
    kept, _ = store.add(NEW, ESTIMATE)
    with pytest.raises(InvalidScenario) as refusal:
        store.evaluations(kept.id, limit=1, cursor=cursor)
    assert [problem.pointer for problem in refusal.value.problems] == ["/cursor"]


def test_history_is_newest_first_and_the_newest_is_the_scenario_s(database: SqlDatabase) -> None:
    store = SqlScenarioStore(database)
    kept, _ = store.add(NEW, ESTIMATE)
    with database.writing() as connection:  # as a re-evaluation will
        for number in (2, 3):
            row = {
                "id": new_id(),
                "scenario_id": kept.id,
                "number": number,
                "engine_version": "0.2.0",
                "catalog_revision": str(number),
                "estimate": ESTIMATE | {"catalog_revision": str(number)},
                "created_at": datetime.now(UTC),
            }
            connection.execute(insert(evaluations), row)
            connection.execute(update(scenarios).values(evaluation_count=number))
    page = store.evaluations(kept.id, limit=2)
    rest = store.evaluations(kept.id, limit=2, cursor=page.next_cursor)
    history = [*page.items, *rest.items]
    assert [evaluation.estimate["catalog_revision"] for evaluation in history] == ["3", "2", "abc"]
    assert rest.next_cursor is None
    assert store.get(kept.id).evaluation == history[0]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"name": "a\x00b"}, "/name"),
        ({"notes": "\ud800"}, "/notes"),
        ({"tags": ("fine", "\udfff")}, "/tags/1"),
        ({"inputs": {"system": {"name": "\x00"}}}, "/inputs/system/name"),
        ({"inputs": {"sys\x00": 1}}, "/inputs"),
        ({"name": "n" * 501}, "/name"),
    ],
)
def test_text_that_one_of_the_databases_cannot_keep_is_refused_by_both(
    store: SqlScenarioStore, changes: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(InvalidScenario) as refusal:
        store.add(replace(NEW, **changes), ESTIMATE)
    assert [problem.pointer for problem in refusal.value.problems] == [pointer]
    assert _names(store, EVERYTHING) == []


def test_the_longest_name_is_kept(store: SqlScenarioStore) -> None:
    name = "😀" * 500
    store.add(replace(NEW, name=name), ESTIMATE)
    assert _names(store, ScenarioFilter(name=name)) == [name]


def test_another_process_s_database_shows_it_at_once(database: SqlDatabase, database_url: str) -> None:
    other = open_database(database_url)
    reader = SqlScenarioStore(other)
    assert _names(reader, EVERYTHING) == []
    kept, _ = SqlScenarioStore(database).add(NEW, ESTIMATE)
    assert reader.get(kept.id) == kept
    other.close()


def test_a_change_moves_the_revision_and_leaves_the_rest(store: SqlScenarioStore) -> None:
    kept, _ = store.add(NEW, ESTIMATE)
    changed = store.change(kept.id.upper(), ScenarioChanges(tracked=False, tags=("other é",)), {1, 5})
    assert changed == replace(kept, tracked=False, tags=("other é",), revision=2, updated_at=changed.updated_at)
    assert changed.updated_at >= kept.updated_at
    assert store.get(kept.id) == changed
    assert store.tracked(limit=10) == []
    assert _names(store, ScenarioFilter(tag="other é")) == ["first"]
    with pytest.raises(StaleRevision, match="revision 2"):
        store.change(kept.id, ScenarioChanges(notes="lost"), {1})
    with pytest.raises(StaleRevision):
        store.change(kept.id, ScenarioChanges(notes="lost"), set())
    assert store.get(kept.id) == changed
    assert store.change(kept.id, ScenarioChanges(notes=""), None).notes == ""
    for scenario_id in (new_id(), "no such id"):
        with pytest.raises(ScenarioNotFound):
            store.change(scenario_id, ScenarioChanges(tracked=True), None)
    with pytest.raises(InvalidScenario):
        store.change(kept.id, ScenarioChanges(notes="nul \x00"), None)


def test_of_two_who_change_the_same_revision_one_is_told(store: SqlScenarioStore) -> None:
    kept, _ = store.add(NEW, ESTIMATE)
    outcomes: list[str] = []

    def change(number: int) -> None:
        try:
            store.change(kept.id, ScenarioChanges(notes=str(number)), {1})
            outcomes.append("changed")
        except StaleRevision:
            outcomes.append("stale")

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["changed", "stale", "stale", "stale"]
    assert store.get(kept.id).revision == 2


def test_tracked_scenarios_come_newest_first_with_their_newest_answer(
    store: SqlScenarioStore, database: SqlDatabase
) -> None:
    first, _ = store.add(replace(NEW, name="first"), ESTIMATE)
    store.add(replace(NEW, name="untracked", tracked=False), ESTIMATE)
    second, _ = store.add(replace(NEW, name="second"), {**ESTIMATE, "inputs": {"system": {"id": "ours"}, "model": "m"}})
    again = ESTIMATE | {"result": {"seconds": 2.0, "steps": 10**400}}
    with database.writing() as connection:
        row = {"scenario_id": first.id, "number": 2, "id": new_id(), "engine_version": "0", "catalog_revision": "r"}
        connection.execute(
            insert(evaluations), row | {"estimate": again, "created_at": datetime(2026, 1, 2, tzinfo=UTC)}
        )
        connection.execute(update(scenarios).where(scenarios.c.id == first.id).values(evaluation_count=2))
    found = store.tracked(limit=10)
    assert [(each.id, each.name, each.kind) for each in found] == [
        (second.id, "second", "collective"),
        (first.id, "first", "collective"),
    ]
    assert [(each.model, each.system) for each in found] == [("m", "ours"), (None, "dgx-h100")]
    assert found[1].estimate == again
    assert found[1].evaluated_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert found[0].evaluated_at == second.evaluation.created_at
    assert [each.name for each in store.tracked(limit=1)] == ["second"]


def test_tracked_scenarios_are_found_without_reading_the_others(store: SqlScenarioStore, database: SqlDatabase) -> None:
    for number in range(200):
        store.add(replace(NEW, name=str(number), tracked=number == 7), ESTIMATE)
    dialect = database.engine.dialect
    query = _TRACKED.limit(1001).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN QUERY PLAN" if dialect.name == "sqlite" else "EXPLAIN"
    with database.writing() as connection:
        if dialect.name == "postgresql":
            connection.exec_driver_sql("ANALYZE scenarios")
        plan = str(connection.exec_driver_sql(f"{explain} {query}").all())
    assert "ix_scenarios_tracked" in plan
