"""Every refusal of the house, in one tree. Knows no HTTP.

::

    StepcastError                 the caller can act on it; `code` names it
      x UnknownCatalogEntry       no such entry; suggests the nearest id
        + AmbiguousAlias          an alias that several entries list
      x InvalidScenario           well-formed, but contradicts itself or the hardware
        + UnsupportedCollective   a collective, algorithm or path that is not modelled (here)
        + UnsupportedRankCount    more ranks than the system has, or a group that does not divide
        + UnsupportedPrecision    a number format that the entry does not state
        + InvalidCatalogEntry     a custom or inline entry that does not hold together
      x ScenarioNotFound          no such scenario
      x CatalogEntryConflict      the id is taken, or the entry is shipped and read-only
      x IdempotencyConflict       the key was used for another request
      x StaleRevision             it was changed since it was read
      x StoreUnavailable          the database is away; try again
      x StoreFull                 the database has no room left
    CatalogDefect                 not in that tree: a shipped file is wrong. The process does not start
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One thing wrong with one field of a question.

    Parameters
    ----------
    pointer : str
        JSON pointer to the field, such as ``/gpus``; ``""`` is the whole question.
    message : str
        What is wrong, in a sentence.
    value : Any
        What was given.
    allowed : Any
        What would be taken: a list of values, a ``{"min": …, "max": …}`` mapping or a sentence.
    suggestion : Any
        The nearest value that would be taken.
    """

    pointer: str
    message: str
    value: Any = None
    allowed: Any = None
    suggestion: Any = None


class StepcastError(Exception):
    """A refusal that the caller can act on. Carries every problem found, not the first only."""

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "The request cannot be answered"

    def __init__(self, detail: str, problems: Sequence[FieldProblem] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = tuple(problems)


class UnknownCatalogEntry(StepcastError):
    """No entry of that kind answers to the name."""

    code = "unknown-catalog-entry"
    title = "No such catalogue entry"


class AmbiguousAlias(UnknownCatalogEntry):
    """Several entries list the alias."""

    code = "ambiguous-alias"
    title = "The name fits several catalogue entries"


class InvalidScenario(StepcastError):
    """Well-formed, but contradicts itself or the hardware."""

    code = "invalid-scenario"
    title = "The question contradicts itself"


class UnsupportedCollective(InvalidScenario):
    """A collective, an algorithm or a path that is not modelled, or not on this system."""

    code = "unsupported-collective"
    title = "Not a collective that can be estimated here"


class UnsupportedRankCount(InvalidScenario):
    """More ranks than the system has, or a group that does not divide."""

    code = "unsupported-rank-count"
    title = "Not a number of GPUs that this system can have"


class UnsupportedPrecision(InvalidScenario):
    """A number format that the entry does not state; never extrapolated."""

    code = "unsupported-precision"
    title = "The catalogue states no figure for this number format"


class InvalidCatalogEntry(InvalidScenario):
    """A custom or inline catalogue entry that does not hold together."""

    code = "invalid-catalog-entry"
    title = "Not a valid catalogue entry"


class ScenarioNotFound(StepcastError):
    """No scenario has that id."""

    code = "scenario-not-found"
    title = "No such scenario"


class CatalogEntryConflict(StepcastError):
    """The id or an alias is taken, or the entry is shipped and read-only."""

    code = "catalog-entry-conflict"
    title = "The catalogue already has that entry"


class IdempotencyConflict(StepcastError):
    """The idempotency key was used before, for another request."""

    code = "idempotency-conflict"
    title = "The idempotency key belongs to another request"


class StaleRevision(StepcastError):
    """It was changed since it was read: read it again, and send the ETag that it has now as If-Match."""

    code = "stale-revision"
    title = "It was changed in between"


class StoreUnavailable(StepcastError):
    """The database cannot be reached or is locked for too long."""

    code = "store-unavailable"
    title = "The database is away"


class StoreFull(StepcastError):
    """The database has no room left; nothing was kept."""

    code = "store-full"
    title = "The storage is full"


class CatalogDefect(Exception):
    """A shipped catalogue file is wrong. Names the file, the key and why; the process does not start."""

    def __init__(self, where: str, key: str, why: str) -> None:
        super().__init__(f"{where}: {key}: {why}")
        self.where = where
        self.key = key
        self.why = why


def all_at_once(refusals: Sequence[StepcastError]) -> StepcastError:
    """Return several refusals as one, with every problem of each; one alone stays what it is."""
    if len(refusals) == 1:
        return refusals[0]
    kinds = {type(refusal) for refusal in refusals}
    kind = kinds.pop() if len(kinds) == 1 else InvalidScenario
    detail = "; ".join(refusal.detail for refusal in refusals)
    return kind(detail, [problem for refusal in refusals for problem in refusal.problems])
