"""POST and GET /v1/estimates/inference, as outside clients see it."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from flask.testing import FlaskClient

from service.http.text_pages import WIDTH
from service.http.v1.inference_estimates import InferenceEstimateSchema
from tests.contract.asking import error_at, post, problem_of
from tests.fakes import fake_app

PATH = "/v1/estimates/inference"
QUESTION = {
    "model": "llama3.1-70b",
    "system": "dgx-b200",
    "gpus": 1,
    "engine": "trtllm",
    "weight_dtype": "fp8",
    "batch_size": 16,
    "input_sequence_length": 1000,
    "output_sequence_length": 500,
}
QUERY = f"{PATH}?{'&'.join(f'{name}={value}' for name, value in QUESTION.items())}"


@pytest.fixture(name="client", scope="module")
def _client() -> FlaskClient:
    return fake_app().test_client()


def test_the_answer_has_the_published_shape(client: FlaskClient) -> None:
    document = post(client, QUESTION, PATH).get_json()
    assert InferenceEstimateSchema().validate(document) == {}
    result, bounds = document["result"], document["range"]
    assert document["kind"] == "inference"
    assert bounds["low"] <= result["output_tokens_per_second"] <= bounds["high"]
    assert result["fits"] is True
    assert "shortfall_bytes" not in result


def test_get_answers_as_post_does(client: FlaskClient) -> None:
    assert client.get(QUERY).get_json() == post(client, QUESTION, PATH).get_json()


def test_nested_fields_are_dotted_in_a_query(client: FlaskClient) -> None:
    body = {**QUESTION, "speculative": {"draft_tokens": 2, "accepted_tokens": 2.5}}
    query = f"{QUERY}&speculative.draft_tokens=2&speculative.accepted_tokens=2.5"
    assert client.get(query).get_json() == post(client, body, PATH).get_json()


def test_max_and_nothing_are_as_many_as_fit(client: FlaskClient) -> None:
    most = post(client, {**QUESTION, "batch_size": "max"}, PATH).get_json()
    assert most["result"]["batch_size"] == most["result"]["max_batch_size"]
    assert most["inputs"]["batch_size"] == "max"
    assert post(client, {**QUESTION, "batch_size": None}, PATH).get_json() == most


def test_the_inputs_can_be_asked_again(client: FlaskClient) -> None:
    document = post(client, QUESTION, PATH).get_json()
    assert post(client, document["inputs"], PATH).get_json() == document


def test_the_answer_as_a_page(client: FlaskClient) -> None:
    answer = client.get(f"{QUERY}&format=text")
    assert answer.text.splitlines()[2].startswith("output_tokens_per_second = ")
    for section in ("Inputs", "Derivation", "Result", "Range", "Ideal"):
        assert section in answer.text
    assert max(len(line) for line in answer.text.splitlines()) <= WIDTH


def test_the_curve_as_a_table(client: FlaskClient) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get(f"{QUERY}&format=csv").text)))
    assert rows[0]["batch_size"] == "1"
    assert {row["pareto"] for row in rows} <= {"true", "false"}


def test_what_does_not_fit_is_an_answer(client: FlaskClient) -> None:
    document = post(client, {**QUESTION, "system": "dgx-h100", "weight_dtype": "bf16"}, PATH).get_json()
    assert InferenceEstimateSchema().validate(document) == {}
    assert document["result"]["fits"] is False
    assert document["result"]["would_fit"]


def test_an_answer_is_kept_as_a_scenario(client: FlaskClient) -> None:
    body = {"name": "one b200", "kind": "inference", "inputs": QUESTION}
    kept = client.post("/v1/scenarios", json=body)
    assert kept.status_code == 201
    assert kept.get_json()["evaluation"]["result"] == post(client, QUESTION, PATH).get_json()["result"]


@pytest.mark.parametrize(
    ("field", "value", "suggestion"),
    [
        ("tensor_parallel_size", 3, 2),
        ("weight_dtype", "fp7", "fp8"),
        ("engine", "trtlm", "trtllm"),
        ("input_sequence_length", 0, 1),
        ("input_sequence_length", 10**30, 100_000_000),
        ("batch_size", "all", None),
        ("prefix_cache_hit_ratio", 1.5, 1.0),
        ("model", "llama3.1-71b", None),
    ],
)
def test_bad_input_names_the_field(client: FlaskClient, field: str, value: Any, suggestion: Any) -> None:
    problem = problem_of(post(client, {**QUESTION, field: value}, PATH), 422)
    errors = [each for each in problem["errors"] if each["pointer"] == f"/{field}"]
    assert errors
    if suggestion is not None:
        assert errors[0]["suggestion"] == suggestion


def test_a_part_names_its_field(client: FlaskClient) -> None:
    body = {**QUESTION, "speculative": {"draft_tokens": 0}}
    assert error_at(problem_of(post(client, body, PATH), 422), "/speculative/draft_tokens")["suggestion"] == 1
