"""Ids that sort by the time they were made: UUID version 7."""

from __future__ import annotations

import secrets
import time
from uuid import UUID

_NANOSECONDS_PER_MILLISECOND = 1_000_000
_SUB_MILLISECOND_STEPS = 1 << 12
_VERSION, _VARIANT = 7, 2


def new_id() -> str:
    """Return a UUID version 7 (RFC 9562, 5.7).

    The 12 bits `rand_a` hold the fraction of the millisecond (6.2, method 3): ids made one after the other sort in that
    order; the other 62 bits are random.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), _NANOSECONDS_PER_MILLISECOND)
    fraction = nanoseconds * _SUB_MILLISECOND_STEPS // _NANOSECONDS_PER_MILLISECOND
    return str(UUID(int=milliseconds << 80 | _VERSION << 76 | fraction << 64 | _VARIANT << 62 | secrets.randbits(62)))


def canonical_id(text: str) -> str | None:
    """Return the id as it is kept, or None when the text is not one (and so names nothing)."""
    try:
        return str(UUID(text)) if len(text) == 36 else None
    except ValueError:
        return None
