"""What is sent is JSON."""

from __future__ import annotations

import json

import pytest

from service.core.numerics import Dtype
from service.http import json_text


@pytest.mark.parametrize("large", [1, 10**30])
def test_a_document_comes_back_as_it_was(large: int) -> None:
    """An integer beyond 64 bits, which orjson refuses, is written by the standard library."""
    document = {"text": "2 × (8 − 1) / 8", "dtype": Dtype.BF16, "none": None, "list": [1, 2.5e-9, True], "n": large}
    assert json.loads(json_text.to_json(document)) == document | {"dtype": "bf16"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_figure_that_is_not_finite_is_named(value: float) -> None:
    json_text.refuse_non_finite({"seconds": 1e-6, "steps": 14, "algorithm": "ring", "none": None})
    with pytest.raises(ValueError, match="not finite: seconds"):
        json_text.refuse_non_finite({"steps": 14, "seconds": value})
