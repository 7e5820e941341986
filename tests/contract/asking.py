"""How the contract tests ask, and what they hold every refusal to."""

from __future__ import annotations

import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from service.http.problem_types import PROBLEM_TYPES
from service.http.problems import ProblemSchema

COLLECTIVE = "/v1/estimates/collective"
QUESTION: dict[str, Any] = {"system": "dgx-h100", "collective": "all_reduce", "gpus": 8, "size_bytes": "1GiB"}


def post(client: FlaskClient, body: Any, path: str = COLLECTIVE, **options: Any) -> TestResponse:
    """POST JSON, or bytes as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, data=data, content_type=options.pop("content_type", "application/json"), **options)


def changed(**fields: Any) -> dict[str, Any]:
    """Return the question with some fields changed, or left out where None."""
    return {name: value for name, value in {**QUESTION, **fields}.items() if value is not None}


def problem_of(answer: TestResponse, status: int) -> dict[str, Any]:
    """Return the problem document, held to RFC 9457 and to the published schema."""
    assert answer.status_code == status, answer.text
    assert answer.content_type == "application/problem+json"
    document: dict[str, Any] = answer.get_json()
    assert ProblemSchema().validate(document) == {}
    assert document["status"] == status
    code = document["type"].removeprefix("/problems/")
    assert code in PROBLEM_TYPES
    assert document["title"]
    assert document["detail"]
    assert document["request_id"] == answer.headers["X-Request-ID"]
    return document


def error_at(document: dict[str, Any], pointer: str) -> dict[str, Any]:
    """Return the one error at a pointer."""
    (error,) = [error for error in document["errors"] if error["pointer"] == pointer]
    return dict(error)
