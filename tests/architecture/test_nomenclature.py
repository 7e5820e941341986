"""Every field of a question and of its answer is on the page of names."""

from __future__ import annotations

import json
import re

import pytest

from tests.architecture.sources import ROOT

SCHEMAS = json.loads((ROOT / "tests/contract/openapi.json").read_text(encoding="utf-8"))["components"]["schemas"]
PAGE = (ROOT / "docs/nomenclature.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`(\w+)`", PAGE))


@pytest.mark.parametrize(
    "schema",
    [
        "CollectiveQuestion",
        "CollectiveResult",
        "CollectiveIdeal",
        "Candidate",
        "InferenceQuestion",
        "Speculation",
        "Disaggregation",
        "InferenceResult",
        "InferenceMemory",
        "InferenceBreakdown",
        "StepBreakdown",
        "Disaggregated",
        "InferenceIdeal",
        "Range",
    ],
)
def test_every_field_is_explained(schema: str) -> None:
    fields = SCHEMAS[schema]["properties"]
    assert set(fields) - NAMES == set()


def test_every_collective_and_protocol_is_explained() -> None:
    question = SCHEMAS["CollectiveQuestion"]["properties"]
    named = {value for field in ("collective", "protocol", "launch", "dtype") for value in question[field]["enum"]}
    assert named - {None} - NAMES == set()


def test_every_kind_of_basis_is_explained() -> None:
    assert set(SCHEMAS["Range"]["properties"]["basis_kind"]["enum"]) <= NAMES
