"""/v1/catalog, as outside clients see it."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from service.http.v1.catalog_entries import EntrySummarySchema
from tests.contract.asking import changed, error_at, post, problem_of
from tests.fakes import fake_app

SYSTEMS = "/v1/catalog/systems"


@pytest.fixture(name="client")
def _client() -> FlaskClient:
    return fake_app().test_client()


def custom(client: FlaskClient, **fields: Any) -> dict[str, Any]:
    """Return what a caller makes of a shipped entry."""
    document: dict[str, Any] = client.get(f"{SYSTEMS}/dgx-h100").get_json()
    return document | {"id": "my-pod", "name": "Our pod", "aliases": ["our-pod"]} | fields


@pytest.mark.parametrize("kind", ["accelerators", "networks", "systems", "models"])
def test_every_shelf_is_listed_page_by_page(client: FlaskClient, kind: str) -> None:
    whole = client.get(f"/v1/catalog/{kind}?limit=200").get_json()
    assert whole["items"]
    assert all(EntrySummarySchema().validate(item) == {} for item in whole["items"])
    ids: list[str] = []
    query = "limit=3"
    while query:
        page = client.get(f"/v1/catalog/{kind}?{query}").get_json()
        ids += [item["id"] for item in page["items"]]
        query = f"limit=3&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert ids == sorted(ids)
    assert ids[:200] == [item["id"] for item in whole["items"]]
    assert client.get(whole["items"][0]["href"]).get_json()["id"] == ids[0]


def test_lists_can_be_searched(client: FlaskClient) -> None:
    found = client.get(f"{SYSTEMS}?q=DGX-h1&origin=shipped").get_json()["items"]
    assert "dgx-h100" in [item["id"] for item in found]
    assert client.get(f"{SYSTEMS}?origin=custom").get_json() == {"items": [], "next_cursor": None}
    for query in ("cursor=%C3%BC", "cursor=!", "cursor=_w", "origin=other", "limit=0", "vendor=x"):
        problem_of(client.get(f"{SYSTEMS}?{query}"), 422)


def test_an_alias_finds_the_entry_and_an_unchanged_one_is_not_sent_again(client: FlaskClient) -> None:
    answer = client.get(f"{SYSTEMS}/8xH100")
    assert answer.get_json()["id"] == "dgx-h100"
    assert answer.get_json()["derived"]["origin"] == "shipped"
    again = client.get(f"{SYSTEMS}/dgx-h100", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_an_entry_that_is_not_there_suggests_the_nearest(client: FlaskClient) -> None:
    (error,) = problem_of(client.get(f"{SYSTEMS}/dgx-h10"), 404)["errors"]
    assert error["suggestion"] == "dgx-h100"
    problem_of(client.get("/v1/catalog/models/no/such/model"), 404)
    assert error_at(problem_of(client.get("/v1/catalog/system"), 404), "/kind")["suggestion"] == "systems"
    problem_of(client.get("/v1/catalog/gpus/h100"), 404)


def test_a_custom_entry_is_used_at_once(client: FlaskClient) -> None:
    answer = post(client, custom(client), SYSTEMS)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"{SYSTEMS}/my-pod"
    kept = client.get(answer.headers["Location"])
    assert kept.get_json() == answer.get_json()
    assert kept.headers["ETag"] == answer.headers["ETag"]
    assert kept.get_json()["derived"]["origin"] == "custom"
    mine, shipped = (post(client, changed(system=name)).get_json() for name in ("our-pod", "dgx-h100"))
    assert mine["inputs"]["system"] == "my-pod"
    assert mine["result"] == shipped["result"]
    assert [item["id"] for item in client.get(f"{SYSTEMS}?origin=custom").get_json()["items"]] == ["my-pod"]


def test_an_id_or_an_alias_that_is_taken(client: FlaskClient) -> None:
    problem_of(post(client, custom(client, id="dgx-h100"), SYSTEMS), 409)
    problem_of(post(client, custom(client, aliases=["h100"]), SYSTEMS), 409)
    assert post(client, custom(client), SYSTEMS).status_code == 201
    problem_of(post(client, custom(client), SYSTEMS), 409)


def test_an_entry_that_does_not_hold_together_tells_everything(client: FlaskClient) -> None:
    document = problem_of(post(client, custom(client, gpus=0, accelerator="h100-sxm", nonsense=1), SYSTEMS), 422)
    assert {"/gpus", "/nonsense"} <= {error["pointer"] for error in document["errors"]}
    for body in ({}, {"id": "x"}, {"id": 7, "accelerator": [], "scale_up": "nvlink"}):
        problem_of(post(client, body, SYSTEMS), 422)


@pytest.mark.parametrize("value", [b"1e400", b"9" * 400, b'"\\u0000"', b'"\\ud800"'])
def test_what_no_database_keeps_is_refused(client: FlaskClient, value: bytes) -> None:
    problem_of(post(client, b'{"id": "x", "scale_up": {"domain_gpus": %s}, "gpus": 8}' % value, SYSTEMS), 422)
