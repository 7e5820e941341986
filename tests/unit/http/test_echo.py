"""What was sent can always be sent back as JSON, and never at length."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.http.echo import LONGEST_TEXT, MOST_ITEMS, echo
from service.http.json_body import HugeNumber


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (8, 8),
        (8.5, 8.5),
        (True, True),
        (None, None),
        (2**63 - 1, 2**63 - 1),
        (10**30, str(10**30)),
        (float("nan"), "nan"),
        (HugeNumber("1e400"), "1e400"),
        ("dgx", "dgx"),
        ("half \ud800", "half \\ud800"),
        ({"a": [1, {"b": {"c": 1}}]}, {"a": [1, {"b": "{…}"}]}),
    ],
)
def test_values_are_echoed_as_json_can_carry_them(value: Any, shown: Any) -> None:
    assert echo(value) == shown
    json.dumps(echo(value), allow_nan=False).encode("utf-8")


@pytest.mark.parametrize(
    "value",
    ["x" * 1_000_000, 10**400, 1 << 100_000, [1] * 100_000, {str(n): n for n in range(9999)}],
    ids=["text", "digits", "bits", "list", "object"],
)
def test_nothing_is_echoed_at_length(value: Any) -> None:
    assert len(json.dumps(echo(value))) < max(2 * LONGEST_TEXT, 20 * MOST_ITEMS)
