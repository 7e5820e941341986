"""Every worker of every replica answers from the same catalogue, tokens and scenarios, at once."""

from __future__ import annotations

import os
import time
from typing import Any

from service.http.auth import LOOK_AGAIN_SECONDS
from service.persistence.database import open_database
from service.persistence.token_store import SqlTokenStore
from tests.serving import Service

QUESTION = {"collective": "all_reduce", "gpus": 8, "size_bytes": 1_000_000}
ASKS = 16  # connections that the workers share out: few enough to be quick, many enough to reach each


def _pod(service: Service, entry_id: str) -> dict[str, Any]:
    document: dict[str, Any] = service.ask("GET", "/v1/catalog/systems/dgx-h100").body
    return document | {"id": entry_id, "name": entry_id, "aliases": []}


def test_a_custom_entry_is_known_to_every_worker_of_every_replica_at_once(database_url: str) -> None:
    with Service(database_url, workers=2) as here, Service(database_url, workers=2) as there:
        for number in range(3):
            entry_id = f"our-pod-{number}"
            question = QUESTION | {"system": entry_id}
            assert there.ask("POST", "/v1/estimates/collective", question).status == 422
            posted = here.ask("POST", "/v1/catalog/systems", _pod(here, entry_id))
            assert posted.status == 201
            answers = [
                replica.ask("POST", "/v1/estimates/collective", question)
                for _ in range(ASKS)
                for replica in (here, there)
            ]
            assert {answer.status for answer in answers} == {200}
            assert len({answer.body["catalog_revision"] for answer in answers}) == 1
            taken = there.ask("POST", "/v1/catalog/systems", _pod(there, entry_id))
            assert taken.status == 409


def test_the_first_token_closes_every_replica_within_a_moment(database_url: str) -> None:
    with Service(database_url, workers=2) as here, Service(database_url, workers=2) as there:
        question = QUESTION | {"system": "dgx-h100"}
        assert there.ask("POST", "/v1/estimates/collective", question).status == 200
        database = open_database(database_url)
        token = SqlTokenStore(database).create("ci", ["read", "write"])
        database.close()
        time.sleep(LOOK_AGAIN_SECONDS)  # how long an open service may go without looking
        for _ in range(ASKS):
            for replica in (here, there):
                assert replica.ask("POST", "/v1/estimates/collective", question).status == 401
                bearer = {"Authorization": f"Bearer {token}"}
                assert replica.ask("POST", "/v1/estimates/collective", question, bearer).status == 200


def test_a_worker_that_dies_is_replaced_and_nobody_notices(database_url: str) -> None:
    with Service(database_url, workers=2) as service:
        posted = service.ask(
            "POST", "/v1/scenarios", {"name": "a", "kind": "collective", "inputs": QUESTION | {"system": "dgx-h100"}}
        )
        _, first, *_ = service.processes()
        os.kill(first.pid, 9)
        answers = [service.ask("GET", posted.headers["Location"]).status for _ in range(ASKS)]
        assert set(answers) == {200}
