"""The published document: valid, complete, and changed on purpose only.

After a change that was meant: UPDATE_SNAPSHOTS=1 python -m pytest tests/contract/test_openapi.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from service.http.api import OPERATIONS
from service.http.v1.estimate_kinds import KINDS
from tests.fakes import fake_app, shipped_catalog

SNAPSHOT = Path(__file__).with_name("openapi.json")


@pytest.fixture(name="document", scope="module")
def _document() -> dict[str, Any]:
    answer = fake_app().test_client().get("/openapi.json")
    assert answer.content_type == "application/json"
    document: dict[str, Any] = answer.get_json()
    return document


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_the_document_is_as_it_was(document: dict[str, Any]) -> None:
    shown = document | {"info": document["info"] | {"version": "any"}}
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")
    assert shown == json.loads(SNAPSHOT.read_text())


def test_every_operation_documents_its_problems(document: dict[str, Any]) -> None:
    for operation in OPERATIONS:
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", operation.path)
        shown = document["paths"][path][operation.method.lower()]
        statuses = set(shown["responses"])
        assert "500" in statuses
        assert not operation.scope or {"401", "403", "503"} <= statuses
        assert operation.method != "POST" or {"400", "413", "415", "422"} <= statuses
        for status, answer in shown["responses"].items():
            if int(status) >= 400:
                component = document["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
                assert list(component["content"]) == ["application/problem+json"]


def test_the_examples_of_questions_are_answered(document: dict[str, Any]) -> None:
    client = fake_app().test_client()
    for path, methods in document["paths"].items():
        examples = methods.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in examples.get("examples", {}).values():
            answer = client.post(path.replace("{kind}", "systems"), json=example["value"])
            assert answer.status_code in (200, 201), answer.text


QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "collective": [
        {"system": "dgx-h100", "collective": "all_reduce", "gpus": n, "size_bytes": 1000, "overlap_window_seconds": 1}
        for n in (1, 8)
    ],
    "inference": [
        {"model": "llama3.1-70b", "system": "dgx-b200", "weight_dtype": "fp8", "tpot_slo_seconds": 1,
         "speculative": {"draft_tokens": 1, "accepted_tokens": 1.5}, "disaggregated": {"kv_bytes_per_second": 1e9}},
    ],
}  # fmt: skip
ABSENT = {"inference": {"shortfall_bytes"}}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_answers_are_dumped_by_the_published_names(kind: Any) -> None:
    catalog = shipped_catalog()
    for body in QUESTIONS[kind.kind]:
        document = kind.document(kind.estimate(kind.read(body, catalog), catalog))
        assert kind.answer.validate(document) == {}
        result = kind.answer.fields["result"].schema
        assert set(document["result"]) | ABSENT.get(kind.kind, set()) == set(result.fields)
        assert json.loads(json.dumps(document, allow_nan=False)) == json.loads(json.dumps(kind.answer.dump(document)))
