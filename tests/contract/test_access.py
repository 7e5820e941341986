"""Tokens, scopes, and the open service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.http import auth
from service.http.api import OPERATIONS, build
from tests.contract.asking import QUESTION, post, problem_of
from tests.fakes import fake_app, fake_services

TOKENS = {"STEPCAST_API_TOKENS": "writer-token,reader-token=read"}
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.7"}
SCENARIO = {"name": "n", "kind": "collective", "inputs": QUESTION}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(autouse=True)
def _look_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "LOOK_AGAIN_SECONDS", 0.0)


def test_every_operation_with_a_scope_needs_a_token() -> None:
    client = fake_app(TOKENS).test_client()
    for operation in OPERATIONS:
        path = operation.path.replace("<kind>", "systems").replace("<path:entry_id>", "x").replace("<scenario_id>", "x")
        answer = client.open(path, method=operation.method)
        if operation.scope:
            problem_of(answer, 401)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        else:
            assert answer.status_code == 200


def test_a_token_may_do_what_its_scopes_say() -> None:
    client = fake_app(TOKENS).test_client()
    assert post(client, QUESTION, headers=bearer("reader-token")).status_code == 200
    assert post(client, SCENARIO, "/v1/scenarios", headers=bearer("writer-token")).status_code == 201
    refused = post(client, SCENARIO, "/v1/scenarios", headers=bearer("reader-token"))
    problem_of(refused, 403)
    assert 'scope="write"' in refused.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    "header", ["Bearer nope", "Bearer", "Bearer ", "Basic d3JpdGVyOnRva2Vu", "writer-token", "Bearer ÿ"]
)
def test_anything_else_is_no_token(header: str) -> None:
    problem_of(post(fake_app(TOKENS).test_client(), QUESTION, headers={"Authorization": header}), 401)


def test_the_scheme_ignores_case() -> None:
    headers = {"Authorization": "bEARER  writer-token "}
    assert post(fake_app(TOKENS).test_client(), QUESTION, headers=headers).status_code == 200


def test_without_any_token_this_machine_may_ask_and_others_may_not() -> None:
    client = fake_app().test_client()
    assert post(client, QUESTION).status_code == 200
    problem_of(post(client, QUESTION, environ_overrides=ELSEWHERE), 401)


def test_the_first_token_closes_the_service() -> None:
    services = fake_services()
    client = build(services).test_client()
    assert post(client, QUESTION).status_code == 200
    token = services.tokens.create("first", ["read"])
    problem_of(post(client, QUESTION), 401)
    assert post(client, QUESTION, headers=bearer(token)).status_code == 200


def test_allow_open_lets_everyone_in_until_there_is_a_token() -> None:
    services = fake_services({"STEPCAST_ALLOW_OPEN": "1", "STEPCAST_HOST": "0.0.0.0"})
    client = build(services).test_client()
    assert post(client, QUESTION, environ_overrides=ELSEWHERE).status_code == 200
    services.tokens.create("first", ["read"])
    problem_of(post(client, QUESTION, environ_overrides=ELSEWHERE), 401)


def test_an_address_that_is_not_loopback_is_never_open_by_itself() -> None:
    services = fake_services({"STEPCAST_HOST": "0.0.0.0"})
    problem_of(post(build(replace(services)).test_client(), QUESTION), 401)


def test_an_open_service_looks_for_its_first_token_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "LOOK_AGAIN_SECONDS", 1.0)
    now = 100.0
    monkeypatch.setattr(auth, "monotonic", lambda: now)
    services = fake_services()
    client = build(services).test_client()
    assert post(client, QUESTION).status_code == 200
    services.tokens.create("first", ["read"])
    now = 101.0
    problem_of(post(client, QUESTION), 401)
    services.tokens.kept.clear()  # type: ignore[attr-defined]
    now = 200.0
    problem_of(post(client, QUESTION), 401)
