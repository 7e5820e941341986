"""Whatever is sent, the answer is a problem document that names field, value, what is allowed and the nearest of it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.contract.asking import COLLECTIVE, changed, error_at, post, problem_of
from tests.fakes import fake_app


@pytest.fixture(name="client", scope="module")
def _client() -> FlaskClient:
    return fake_app().test_client()


@pytest.mark.parametrize(
    ("pointer", "value", "suggestion"),
    [
        ("/system", "dgx-h10", "dgx-h100"),
        ("/model", "lama3-70b", "llama3-70b"),
        ("/collective", "allreduce", "all_reduce"),
        ("/collective", "expert_dispatches", "expert_dispatch"),
        ("/dtype", "fp31", "fp32"),
        ("/algorithm", "rings", "ring"),
        ("/protocol", "ll127", "ll128"),
        ("/implementation", "ncl", "nccl"),
        ("/launch", "graphs", "graph"),
        ("/gpus", 0, 1),
        ("/gpus", -8, 1),
        ("/gpus", 8.5, 8),
        ("/gpus", 1e30, 10_000_000),
        ("/gpus", 10**30, 10_000_000),
        ("/gpus", "8", 8),
        ("/gpus", True, None),
        ("/gpus", [8], None),
        ("/gpus_per_node", 0, 1),
        ("/gpus_per_node", 3, None),
        ("/size_bytes", 0, 1),
        ("/size_bytes", -1, 1),
        ("/size_bytes", "1G", None),
        ("/size_bytes", "NaN", None),
        ("/size_bytes", "1e400", 10**18),
        ("/size_bytes", "", None),
        ("/registered_buffers", "yes", True),
        ("/overlap_window_seconds", -1, 0),
        ("/nccl_version", "two", None),
    ],
)
def test_a_field_that_makes_no_sense(client: FlaskClient, pointer: str, value: Any, suggestion: Any) -> None:
    fields = {pointer[1:]: value} | ({"size_bytes": None} if pointer == "/model" else {})
    error = error_at(problem_of(post(client, changed(**fields)), 422), pointer)
    assert error["value"] == (str(value) if value == 10**30 and isinstance(value, int) else value)
    assert error["allowed"]
    if suggestion is not None:
        assert error["suggestion"] == suggestion


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [(b"1e400", 10_000_000), (b"-1e400", 1), (b"9" * 400, 10_000_000), (b"9" * 9999, 10_000_000)],
)
def test_numbers_beyond_any_float(client: FlaskClient, written: bytes, suggestion: int) -> None:
    body = b'{"system": "dgx-h100", "collective": "all_reduce", "size_bytes": 1, "gpus": %s}' % written
    error = error_at(problem_of(post(client, body), 422), "/gpus")
    assert error["suggestion"] == suggestion
    assert error["value"].startswith(written[:100].decode())
    assert len(error["value"]) < 300


def test_more_gpus_than_the_system_can_have(client: FlaskClient) -> None:
    error = error_at(problem_of(post(client, changed(gpus=10_000_000)), 422), "/gpus")
    assert error["value"] == 10_000_000
    assert error["suggestion"] == error["allowed"]["max"]


def test_everything_wrong_is_told_at_once(client: FlaskClient) -> None:
    body = {
        "system": "dgx-h10",
        "collective": "allreduce",
        "gpus": 0,
        "size_bytes": "1G",
        "dtypo": "bf16",
        "model": "gpt5",
    }
    document = problem_of(post(client, body), 422)
    pointers = ["/system", "/collective", "/gpus", "/size_bytes", "/model", "/dtypo"]
    assert [error["pointer"] for error in document["errors"]] == pointers
    assert error_at(document, "/dtypo")["suggestion"] == "dtype"
    assert all("allowed" in error for error in document["errors"])


def test_required_fields_are_named_with_what_they_take(client: FlaskClient) -> None:
    document = problem_of(post(client, {}), 422)
    assert [error["pointer"] for error in document["errors"]] == ["/system", "/collective", "/gpus"]
    assert "all_reduce" in error_at(document, "/collective")["allowed"]
    assert error_at(problem_of(post(client, {"gpus": None}), 422), "/gpus")["message"] == "may not be null"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        b'{"gpus": 8, "gpus": 8}',
        b'{"gpus": NaN}',
        b'{"size_bytes": Infinity}',
        b"[" * 200_000,
        b'{"system":' * 50_000,
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
    ],
    ids=str,
)
def test_malformed_json(client: FlaskClient, body: bytes) -> None:
    assert problem_of(post(client, body), 400)["type"] == "/problems/malformed-json"


@pytest.mark.parametrize("body", [b"[]", b"7", b"null", b'"text"'])
def test_json_that_is_no_object(client: FlaskClient, body: bytes) -> None:
    problem_of(post(client, body), 422)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_another_content_type(client: FlaskClient, content_type: str | None) -> None:
    assert (
        problem_of(post(client, changed(), content_type=content_type), 415)["errors"][0]["suggestion"]
        == "application/json"
    )


def test_a_charset_is_fine(client: FlaskClient) -> None:
    assert post(client, changed(), content_type="application/json; charset=utf-8").status_code == 200


def test_a_body_over_the_limit(client: FlaskClient) -> None:
    problem_of(post(client, b'{"system": "' + b"x" * 1_000_000 + b'"}'), 413)
    chunked = {
        "method": "POST",
        "path": COLLECTIVE,
        "content_type": "application/json",
        "input_stream": io.BytesIO(b" " * 1_000_001),
        "environ_overrides": {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    }
    problem_of(client.open(**chunked), 413)


def test_a_megabyte_is_not_echoed(client: FlaskClient) -> None:
    answer = post(client, changed(collective="x" * 900_000))
    assert len(answer.data) < 5_000
    assert error_at(problem_of(answer, 422), "/collective")["value"].endswith("(900000 characters)")
    assert len(post(client, {"x" * 900_000: 1}).data) < 10_000
    assert len(post(client, {f"field{n}": n for n in range(20_000)}).data) < 200_000


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("gpus=8&gpus=16", "/gpus"),
        ("gpus=", "/gpus"),
        ("gpus=8.5", "/gpus"),
        ("gpus=eight", "/gpus"),
        ("gpus=NaN", "/gpus"),
        ("gpus=1e400", "/gpus"),
        ("gpus=8&gpu=8", "/gpu"),
        ("gpus=8&gpus.x=8", "/gpus/x"),
        ("gpus=8&nccl_version=%00", "/nccl_version"),
        ("gpus=8&registered_buffers=yes", "/registered_buffers"),
        ("gpus=8&format=xml", "/format"),
    ],
)
def test_a_query_that_makes_no_sense(client: FlaskClient, query: str, pointer: str) -> None:
    answer = client.get(f"{COLLECTIVE}?system=dgx-h100&collective=all_reduce&size_bytes=1GiB&{query}")
    error_at(problem_of(answer, 422), pointer)


def test_a_posted_question_takes_no_query(client: FlaskClient) -> None:
    error_at(problem_of(post(client, changed(), f"{COLLECTIVE}?gpus=8"), 422), "/gpus")


def test_formats_that_are_not_there(client: FlaskClient) -> None:
    problem_of(post(client, changed(), headers={"Accept": "application/xml"}), 406)
    problem_of(client.get("/v1/scenarios", headers={"Accept": "text/plain"}), 406)


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/estimates/training-step", "/v1/scenarios/", "//v1/scenarios"])
def test_paths_that_lead_nowhere(client: FlaskClient, path: str) -> None:
    problem_of(client.get(path), 404)


def test_methods_that_a_path_does_not_take(client: FlaskClient) -> None:
    answer = client.delete(COLLECTIVE)
    problem_of(answer, 405)
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}
