"""Opaque cursors: where a page ended, by the key of its last item.

A page starts after a key, not after a count, so rows that come or go meanwhile neither repeat nor hide others.
"""

from __future__ import annotations

import base64
import binascii

from service.errors import FieldProblem, InvalidScenario


def to_cursor(listing: str, key: str) -> str:
    """Return the cursor that continues `listing` after the item with `key`."""
    return base64.urlsafe_b64encode(f"{listing}:{key}".encode()).decode().rstrip("=")


def from_cursor(listing: str, cursor: str) -> str:
    """Return the key in a cursor of `listing`.

    Raises
    ------
    InvalidScenario
        At ``/cursor``, for text that `to_cursor` did not make for this listing.
    """
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    kind, _, key = text.partition(":")
    if kind != listing or not key:
        raise invalid_cursor(cursor)
    return key


def invalid_cursor(cursor: str) -> InvalidScenario:
    """Return the refusal of a cursor."""
    why = "not a cursor of this list"
    allowed = "the next_cursor of the page before, unchanged"
    return InvalidScenario(f"{cursor!r} is {why}.", [FieldProblem("/cursor", why, cursor, allowed)])
