"""Sixteen writers at once lose nothing and see no error, through one database or through the service."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

from service.persistence.catalog_store import SqlCatalogStore
from service.persistence.database import SqlDatabase, open_database
from service.persistence.scenario_store import SqlScenarioStore
from service.planning.scenarios import NewScenario, ScenarioFilter
from tests.serving import Service

QUESTION = {"system": "dgx-h100", "collective": "all_reduce", "gpus": 8, "size_bytes": 1_000_000}
ESTIMATE: dict[str, Any] = {"inputs": QUESTION, "engine_version": "0", "catalog_revision": "0"}
WRITES = 10


def _add_each(store: SqlScenarioStore, writer: int) -> None:
    for number in range(WRITES):
        scenario = NewScenario(f"{writer}-{number}", "collective", QUESTION)
        kept, new = store.add(scenario, ESTIMATE, f"key {writer}-{number}")
        if not new or store.get(kept.id).name != scenario.name:
            raise RuntimeError(f"lost {scenario.name}")


def _write_in_threads(url: str, first: int, threads: int) -> None:
    database = open_database(url)
    store = SqlScenarioStore(database)
    failures = at_once([lambda writer=writer: _add_each(store, writer) for writer in range(first, first + threads)])
    database.close()
    if failures:
        raise failures[0]


def at_once(tasks: list[Callable[[], None]]) -> list[BaseException]:
    """Run each in a thread of its own and return what they raised."""
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def _names(database: SqlDatabase) -> list[str]:
    page = SqlScenarioStore(database).list(ScenarioFilter(), limit=1000, cursor=None)
    return sorted(scenario.name for scenario in page.items)


def _expected() -> list[str]:
    return sorted(f"{writer}-{number}" for writer in range(16) for number in range(WRITES))


def test_sixteen_threads_of_one_process(database: SqlDatabase) -> None:
    store = SqlScenarioStore(database)
    assert at_once([lambda writer=writer: _add_each(store, writer) for writer in range(16)]) == []
    assert _names(database) == _expected()


def test_four_threads_of_four_processes(database: SqlDatabase, database_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_in_threads, args=(database_url, first, 4)) for first in (0, 4, 8, 12)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert _names(database) == _expected()


def test_sixteen_clients_of_the_service(database: SqlDatabase, database_url: str) -> None:
    answers: list[tuple[int, Any]] = []

    def post_each(service: Service, client: int) -> None:
        for number in range(WRITES):
            scenario = {"name": f"{client}-{number}", "kind": "collective", "inputs": QUESTION}
            answer = service.ask("POST", "/v1/scenarios", scenario)
            answers.append((answer.status, answer.body))
            got = service.ask("GET", answer.headers["Location"])
            answers.append((got.status + 1, got.body))

    with Service(database_url) as service:
        assert at_once([lambda client=client: post_each(service, client) for client in range(16)]) == []
    assert [answer for answer in answers if answer[0] != 201] == []
    assert len(answers) == 16 * WRITES * 2
    assert _names(database) == _expected()


def test_many_catalogue_writers_move_the_revision_once_each(database: SqlDatabase) -> None:
    store = SqlCatalogStore(database)
    assert at_once([lambda n=n: store.add("systems", {"id": f"system-{n}"}) for n in range(16)]) == []  # type: ignore[misc]
    assert store.revision() == len(store.entries()) == 16


def test_a_key_sent_by_sixteen_clients_keeps_one_scenario(database: SqlDatabase, database_url: str) -> None:
    bodies: list[Any] = []
    scenario = {"name": "once", "kind": "collective", "inputs": QUESTION}
    with Service(database_url) as service:

        def post() -> None:
            bodies.append(service.ask("POST", "/v1/scenarios", scenario, {"Idempotency-Key": "one"}).body)

        assert at_once([post] * 16) == []
        other = service.ask("POST", "/v1/scenarios", scenario | {"name": "two"}, {"Idempotency-Key": "one"})
    assert len({body["id"] for body in bodies}) == 1
    assert len(bodies) == 16
    assert other.status == 409
    assert _names(database) == ["once"]
