"""POST and GET /v1/estimates/collective, as outside clients see it."""

from __future__ import annotations

import csv
import io

import pytest
from flask.testing import FlaskClient

from service.http.text_pages import WIDTH
from service.http.v1.collective_estimates import CollectiveEstimateSchema
from tests.contract.asking import COLLECTIVE, QUESTION, changed, error_at, post, problem_of
from tests.fakes import fake_app

QUERY = f"{COLLECTIVE}?system=dgx-h100&collective=all_reduce&gpus=8&size_bytes=1GiB"


@pytest.fixture(name="client", scope="module")
def _client() -> FlaskClient:
    return fake_app().test_client()


def test_the_answer_has_the_published_shape(client: FlaskClient) -> None:
    answer = post(client, QUESTION)
    assert answer.status_code == 200
    assert answer.content_type == "application/json"
    document = answer.get_json()
    assert CollectiveEstimateSchema().validate(document) == {}
    assert document["kind"] == "collective"
    assert document["inputs"]["system"] == "dgx-h100"
    assert document["range"]["low"] <= document["result"]["seconds"] <= document["range"]["high"]
    assert "exposed_seconds" not in document["result"]


def test_a_window_adds_what_is_exposed(client: FlaskClient) -> None:
    assert post(client, changed(overlap_window_seconds=10)).get_json()["result"]["exposed_seconds"] == 0


@pytest.mark.parametrize("gpus", ["8", "8.0", "8e0"])
def test_get_answers_as_post_does(client: FlaskClient, gpus: str) -> None:
    assert client.get(QUERY.replace("gpus=8", f"gpus={gpus}")).get_json() == post(client, QUESTION).get_json()


def test_null_and_auto_mean_not_given(client: FlaskClient) -> None:
    body = {**QUESTION, "algorithm": "auto", "protocol": None, "gpus_per_node": None, "dtype": None, "gpus": 8.0}
    assert post(client, body).get_json() == post(client, QUESTION).get_json()


def test_an_inline_system_is_what_the_catalogue_gives_out(client: FlaskClient) -> None:
    system = client.get("/v1/catalog/systems/dgx-h100").get_json()
    inline = post(client, changed(system=system)).get_json()
    assert inline["result"]["seconds"] == post(client, QUESTION).get_json()["result"]["seconds"]


@pytest.mark.parametrize(("suffix", "headers"), [("&format=text", {}), ("", {"Accept": "text/plain"})])
def test_the_answer_as_a_page(client: FlaskClient, suffix: str, headers: dict[str, str]) -> None:
    answer = client.get(QUERY + suffix, headers=headers)
    assert answer.content_type == "text/plain; charset=utf-8"
    for section in ("Inputs", "Derivation", "Result", "Range", "Ideal", "Candidates"):
        assert section in answer.text
    assert max(len(line) for line in answer.text.splitlines()) <= WIDTH


@pytest.mark.parametrize(("suffix", "headers"), [("&format=csv", {}), ("", {"Accept": "text/csv"})])
def test_the_candidates_as_a_table(client: FlaskClient, suffix: str, headers: dict[str, str]) -> None:
    answer = client.get(QUERY + suffix, headers=headers)
    assert answer.content_type == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    candidates = client.get(QUERY).get_json()["result"]["candidates"]
    assert [row["algorithm"] for row in rows] == [candidate["algorithm"] for candidate in candidates]


def test_a_head_request_has_no_body(client: FlaskClient) -> None:
    answer = client.head(QUERY)
    assert answer.status_code == 200
    assert answer.data == b""


def test_a_frameworks_kernel_has_no_protocol_and_beats_nccl_from_a_graph(client: FlaskClient) -> None:
    graph = {"size_bytes": 8192, "launch": "graph"}
    document = post(client, changed(**graph, implementation="trtllm")).get_json()
    assert CollectiveEstimateSchema().validate(document) == {}
    assert (document["result"]["algorithm"], document["result"]["protocol"]) == ("one_shot", None)
    assert document["inputs"]["implementation"] == "trtllm"
    nccl = post(client, changed(**graph)).get_json()
    assert 3 * document["result"]["seconds"] < nccl["result"]["seconds"]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"collective": "all_to_all"}, "/implementation"),
        ({"gpus": 16}, "/gpus"),
        ({"gpus": 5}, "/gpus"),
        ({"dtype": "int8"}, "/dtype"),
        ({"algorithm": "ring"}, "/algorithm"),
        ({"protocol": "ll"}, "/protocol"),
        ({"system": "dgx-1v"}, "/implementation"),
    ],
)
def test_what_frameworks_kernels_cannot_do(client: FlaskClient, fields: dict[str, object], pointer: str) -> None:
    error = error_at(problem_of(post(client, changed(**fields, implementation="vllm")), 422), pointer)
    assert error["allowed"]
    assert error["suggestion"]
