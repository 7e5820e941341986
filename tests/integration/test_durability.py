"""What was answered 201 outlives the death of every process, and the service outlives its database."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from tests.postgres_server import PostgresServer
from tests.serving import Answer, Service

SCENARIO = {
    "name": "kept",
    "kind": "collective",
    "inputs": {"system": "dgx-h100", "collective": "all_reduce", "gpus": 8, "size_bytes": 1_000_000},
}


def _until_200(service: Service, path: str) -> Answer:
    deadline = time.monotonic() + 30
    while True:
        answer = service.ask("GET", path)
        if answer.status == 200 or time.monotonic() > deadline:
            return answer
        time.sleep(0.1)


def test_a_scenario_outlives_every_process(database_url: str) -> None:
    service = Service(database_url)
    kept: list[Any] = []
    for number in range(3):
        posted = service.ask("POST", "/v1/scenarios", SCENARIO | {"name": f"kept {number}"})
        service.kill()
        assert posted.status == 201
        kept.append(posted.body)
        service.start()
    for body in kept:
        answer = service.ask("GET", f"/v1/scenarios/{body['id']}")
        assert (answer.status, answer.body) == (200, body)
    service.stop()


def test_a_scenario_outlives_the_postgres_server() -> None:
    server = PostgresServer()
    try:
        server.execute("CREATE DATABASE stepcast")
        with Service(server.url("stepcast")) as service:
            posted = service.ask("POST", "/v1/scenarios", SCENARIO)
            service_down_too = service.processes()
            server.kill()
            assert posted.status == 201
            away = service.ask("GET", f"/v1/scenarios/{posted.body['id']}")
            assert away.status == 503
            assert int(away.headers["Retry-After"]) > 0
            assert service.ask("GET", "/readyz").status == 503
            assert service.ask("GET", "/healthz").status == 200
            server.start()
            again = _until_200(service, f"/v1/scenarios/{posted.body['id']}")
            assert again.body == posted.body
            assert service.processes() == service_down_too  # it healed without a restart
            assert service.ask("POST", "/v1/scenarios", SCENARIO).status == 201
            server.kill()
            service.kill()
            server.start()
            service.start()
            assert service.ask("GET", f"/v1/scenarios/{posted.body['id']}").body == posted.body
    finally:
        server.stop()


def test_replicas_start_at_once_on_a_new_database(empty_database_url: str) -> None:
    services: list[Service] = []
    threads = [
        threading.Thread(target=lambda: services.append(Service(empty_database_url, workers=1))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(services) == 3
    posted = services[0].ask("POST", "/v1/scenarios", SCENARIO)
    for service in services:
        assert service.ask("GET", f"/v1/scenarios/{posted.body['id']}").body == posted.body
        service.stop()


def test_a_write_that_was_not_answered_is_whole_or_not_there(database_url: str) -> None:
    """Kill the service while clients write: what is there afterwards has its evaluation."""
    with Service(database_url) as service:
        answered: list[str] = []

        def write() -> None:
            with suppress(OSError, HTTPException):  # until it is cut
                while True:
                    answered.append(service.ask("POST", "/v1/scenarios", SCENARIO).body["id"])

        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        time.sleep(1)
        service.kill()
        for writer in writers:
            writer.join()
        service.start()
        there: list[str] = []
        cursor = ""
        while cursor is not None:
            page = service.ask("GET", f"/v1/scenarios?limit=100{cursor and f'&cursor={cursor}'}")
            assert page.status == 200
            there += [item["id"] for item in page.body["items"] if item["evaluation"]["result"]]
            cursor = page.body["next_cursor"]
        assert set(answered) <= set(there)
        assert len(answered) > 4
