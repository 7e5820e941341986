"""/v1/scenarios, as outside clients see it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from service.http.v1.scenarios import EvaluationSchema, ScenarioSchema
from tests.contract.asking import QUESTION, changed, error_at, post, problem_of
from tests.fakes import fake_app

PATH = "/v1/scenarios"
SCENARIO: dict[str, Any] = {"name": "one node", "kind": "collective", "inputs": QUESTION, "tags": ["h100"]}


@pytest.fixture(name="client")
def _client() -> FlaskClient:
    return fake_app().test_client()


def test_a_scenario_is_kept_with_its_answer(client: FlaskClient) -> None:
    answer = post(client, SCENARIO, PATH)
    assert answer.status_code == 201
    document = answer.get_json()
    assert ScenarioSchema().validate(document) == {}
    assert answer.headers["Location"] == f"{PATH}/{document['id']}"
    assert answer.headers["ETag"] == f'"{document["revision"]}"'
    assert document["inputs"] == QUESTION
    assert (document["tracked"], document["notes"]) == (False, "")
    estimate = post(client, QUESTION).get_json()
    assert {name: document["evaluation"][name] for name in estimate} == estimate
    assert client.get(answer.headers["Location"]).get_json() == document


def test_an_unchanged_scenario_is_not_sent_again(client: FlaskClient) -> None:
    kept = post(client, SCENARIO, PATH)
    answer = client.get(kept.headers["Location"], headers={"If-None-Match": kept.headers["ETag"]})
    assert (answer.status_code, answer.data) == (304, b"")


def test_a_retry_keeps_one_scenario(client: FlaskClient) -> None:
    headers = {"Idempotency-Key": "0b5e7f9c-retry"}
    first, again = (post(client, SCENARIO, PATH, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.get_json() == again.get_json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    problem_of(post(client, SCENARIO | {"name": "other"}, PATH, headers=headers), 409)
    assert len(client.get(PATH).get_json()["items"]) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "with space", "ümlaut"])
def test_an_odd_idempotency_key_is_refused(client: FlaskClient, key: str) -> None:
    problem_of(post(client, SCENARIO, PATH, headers={"Idempotency-Key": key}), 400)


def test_everything_wrong_is_told_at_once_inputs_included(client: FlaskClient) -> None:
    body = {
        "name": "",
        "kind": "collective",
        "inputs": changed(gpus=0, system="dgx-h10"),
        "tags": "h100",
        "trakced": True,
    }
    document = problem_of(post(client, body, PATH), 422)
    assert {error["pointer"] for error in document["errors"]} == {
        "/name", "/inputs/system", "/inputs/gpus", "/tags", "/trakced"
    }  # fmt: skip
    assert error_at(document, "/inputs/system")["suggestion"] == "dgx-h100"
    assert error_at(document, "/tags")["suggestion"] == ["h100"]
    assert error_at(document, "/trakced")["suggestion"] == "tracked"


def test_the_planner_s_refusals_point_into_inputs(client: FlaskClient) -> None:
    body = SCENARIO | {"inputs": changed(gpus=10_000_000)}
    error_at(problem_of(post(client, body, PATH), 422), "/inputs/gpus")


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/kind", {"kind": "colective"}),
        ("/kind", {"kind": "training-step"}),
        ("/inputs", {"inputs": []}),
        ("/inputs", {"inputs": None}),
        ("/name", {"name": "x" * 201}),
        ("/name", {"name": "nul \x00"}),
        ("/name", {"name": "half \ud800"}),
        ("/notes", {"notes": "x" * 10_001}),
        ("/notes", {"notes": "nul \x00"}),
        ("/tags/1", {"tags": ["fine", ""]}),
        ("/tags/0", {"tags": ["nul \x00"]}),
        ("/tags/0", {"tags": [7]}),
        ("/tags", {"tags": ["twice", "twice"]}),
        ("/tags", {"tags": [str(n) for n in range(21)]}),
        ("/tracked", {"tracked": 1}),
    ],
)
def test_fields_that_make_no_sense(client: FlaskClient, pointer: str, change: dict[str, Any]) -> None:
    error_at(problem_of(post(client, SCENARIO | change, PATH), 422), pointer)


def test_lists_page_and_filter(client: FlaskClient) -> None:
    for number in range(5):
        post(client, SCENARIO | {"name": f"number {number}", "tags": [f"odd {number % 2}"]}, PATH)
    first = client.get(f"{PATH}?limit=2").get_json()
    assert [item["name"] for item in first["items"]] == ["number 4", "number 3"]
    second = client.get(f"{PATH}?limit=3&cursor={first['next_cursor']}").get_json()
    assert [item["name"] for item in second["items"]] == ["number 2", "number 1", "number 0"]
    assert second["next_cursor"] is None
    found = client.get(PATH, query_string={"tag": "odd 1", "kind": "collective", "system": "H100"}).get_json()
    assert [item["name"] for item in found["items"]] == ["number 3", "number 1"]
    assert client.get(f"{PATH}?system=no-such-system").get_json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=many", "kind=other", "page=2", "name=", "tag=a&tag=b"]
)
def test_lists_refuse_what_they_do_not_know(client: FlaskClient, query: str) -> None:
    problem_of(client.get(f"{PATH}?{query}"), 422)


def test_the_history_has_every_answer(client: FlaskClient) -> None:
    kept = post(client, SCENARIO, PATH).get_json()
    page = client.get(f"{PATH}/{kept['id']}/evaluations").get_json()
    assert page == {"items": [kept["evaluation"]], "next_cursor": None}
    assert EvaluationSchema().validate(page["items"][0]) == {}


def _patch(client: FlaskClient, kept: TestResponse, body: Any, **headers: str) -> TestResponse:
    path = kept.headers["Location"]
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.patch(path, data=json.dumps(body), content_type="application/json", headers=named)


def test_tags_tracked_and_notes_change_and_nothing_else(client: FlaskClient) -> None:
    kept = post(client, SCENARIO | {"tracked": True}, PATH)
    answer = _patch(client, kept, {"tracked": False, "notes": "enough"}, If_Match=kept.headers["ETag"])
    assert answer.status_code == 200
    before, after = kept.get_json(), answer.get_json()
    assert ScenarioSchema().validate(after) == {}
    moved = {"tracked": False, "notes": "enough", "revision": 2, "updated_at": after["updated_at"]}
    assert after == before | moved
    assert answer.headers["ETag"] == '"2"'
    assert client.get(kept.headers["Location"]).get_json() == after
    assert _patch(client, kept, {"tags": []}, If_Match='"7", "2"').get_json()["tags"] == []
    assert _patch(client, kept, {"tracked": True}, If_Match="*").get_json()["revision"] == 4


@pytest.mark.parametrize("etag", ['"2"', 'W/"1"', '"one"', '"01"', '"99999999999999999999"', '""'])
def test_a_change_of_what_is_not_there_any_more_is_refused(client: FlaskClient, etag: str) -> None:
    kept = post(client, SCENARIO, PATH)
    assert problem_of(_patch(client, kept, {"tracked": True}, If_Match=etag), 412)["type"] == "/problems/stale-revision"
    assert client.get(kept.headers["Location"]).get_json() == kept.get_json()


def test_a_change_says_of_what(client: FlaskClient) -> None:
    kept = post(client, SCENARIO, PATH)
    assert problem_of(_patch(client, kept, {"tracked": True}), 428)["type"] == "/problems/if-match-needed"
    answer = client.patch(f"{PATH}/nothing", json={"tracked": True}, headers={"If-Match": "*"})
    problem_of(answer, 404)


@pytest.mark.parametrize(
    ("pointer", "body"),
    [
        ("", {}),
        ("", {"tracked": None}),
        ("/inputs", {"inputs": {}}),
        ("/name", {"name": "other"}),
        ("/tracked", {"tracked": "no"}),
        ("/tags/0", {"tags": [""]}),
        ("/notes", {"notes": "nul \x00"}),
    ],
)
def test_changes_that_make_no_sense(client: FlaskClient, pointer: str, body: Any) -> None:
    kept = post(client, SCENARIO, PATH)
    error_at(problem_of(_patch(client, kept, body, If_Match="*"), 422), pointer)


@pytest.mark.parametrize("scenario_id", ["nothing", "x" * 500, "%00", "%ff", "a%20b"])
def test_a_scenario_that_is_not_there(client: FlaskClient, scenario_id: str) -> None:
    problem_of(client.get(f"{PATH}/{scenario_id}"), 404)
    problem_of(client.get(f"{PATH}/{scenario_id}/evaluations"), 404)
