"""What is sent is JSON, whichever encoder wrote it."""

from __future__ import annotations

import importlib
import json
from types import ModuleType

import pytest

from service.core.numerics import Dtype
from service.http import json_text

DOCUMENT = {"text": "2 × (8 − 1) / 8", "dtype": Dtype.BF16, "none": None, "list": [1, 2.5e-9, True], "large": 10**30}


@pytest.mark.parametrize("has_orjson", [True, False])
def test_every_encoder_writes_the_same_document(monkeypatch: pytest.MonkeyPatch, has_orjson: bool) -> None:
    def absent(name: str) -> ModuleType:
        raise ModuleNotFoundError(name)

    if has_orjson:
        pytest.importorskip("orjson")
    else:
        monkeypatch.setattr(importlib, "import_module", absent)
    assert json.loads(json_text._encoder()(DOCUMENT)) == DOCUMENT | {"dtype": "bf16"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_figure_that_is_not_finite_is_named(value: float) -> None:
    json_text.refuse_non_finite({"seconds": 1e-6, "steps": 14, "algorithm": "ring", "none": None})
    with pytest.raises(ValueError, match="not finite: seconds"):
        json_text.refuse_non_finite({"steps": 14, "seconds": value})
