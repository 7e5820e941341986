"""What was sent, made fit to be sent back: JSON that every parser reads, and never a megabyte of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from service.http.json_body import HugeNumber

LONGEST_TEXT: Final = 200
MOST_ITEMS: Final = 200
_WIDEST_BITS: Final = 63  # integers beyond a signed 64-bit word break many parsers


def echo(value: Any, depth: int = 0) -> Any:
    """Return a value as it may stand in an answer: long text cut, numbers that JSON cannot carry as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, HugeNumber):
        return shorten(value.text)
    if isinstance(value, int):
        return value if value.bit_length() <= _WIDEST_BITS else shorten(_digits(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        if depth > 2:
            return "{…}"
        return {shorten(str(name)): echo(item, depth + 1) for name, item in list(value.items())[:MOST_ITEMS]}
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[…]" if depth > 2 else [echo(item, depth + 1) for item in list(value)[:MOST_ITEMS]]
    return shorten(value.isoformat() if isinstance(value, date) else str(value))


def shorten(text: str) -> str:
    """Return text, cut with its length told when it is long, and with half surrogate pairs spelled out."""
    safe = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
    return safe if len(safe) <= LONGEST_TEXT else f"{safe[:LONGEST_TEXT]}… ({len(safe)} characters)"


def _digits(value: int) -> str:
    """Return an integer's digits; beyond what Python converts, how large it is."""
    if value.bit_length() < 13_000:
        return str(value)
    return f"an integer of {value.bit_length()} bits"
