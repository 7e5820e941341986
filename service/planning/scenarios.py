"""Scenarios: a question that is kept with its answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from service.planning.tracked import TrackedScenario

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class NewScenario:
    """What a caller sends."""

    name: str
    kind: str
    inputs: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    tracked: bool = False
    notes: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioChanges:
    """What to change of a kept one; None leaves it. Its question is not among them: that is another scenario."""

    tags: tuple[str, ...] | None = None
    tracked: bool | None = None
    notes: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One answer, never rewritten. `estimate` is the document that the estimate endpoint gives."""

    id: str
    created_at: datetime
    estimate: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A kept question with its newest evaluation."""

    id: str
    name: str
    kind: str
    inputs: Mapping[str, Any]
    tags: tuple[str, ...]
    tracked: bool
    notes: str
    revision: int
    created_at: datetime
    updated_at: datetime
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class ScenarioFilter:
    """Which scenarios to list; None does not filter."""

    kind: str | None = None
    tag: str | None = None
    model: str | None = None
    system: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A page of a list; `next_cursor` is None on the last one."""

    items: Sequence[Item]
    next_cursor: str | None


class ScenarioStore(Protocol):
    """Where scenarios are kept. `add` returns only when the scenario is durable."""

    def add(
        self, scenario: NewScenario, estimate: Mapping[str, Any], idempotency_key: str | None = None
    ) -> tuple[Scenario, bool]:
        """Keep a scenario and its first evaluation; False when the idempotency key had already kept it.

        Raises IdempotencyConflict when the key was used for another request.
        """

    def get(self, scenario_id: str) -> Scenario:
        """Return one, or raise ScenarioNotFound."""

    def change(self, scenario_id: str, changes: ScenarioChanges, revisions: Collection[int] | None) -> Scenario:
        """Change one that is at one of these revisions (None: at any), and return it.

        Raises ScenarioNotFound, or StaleRevision when it is at another.
        """

    def list(self, where: ScenarioFilter, *, limit: int, cursor: str | None = None) -> Page[Scenario]:
        """Return a page, newest first. Raises InvalidScenario at ``/cursor`` for one that this list did not give."""

    def tracked(self, *, limit: int) -> Sequence[TrackedScenario]:
        """Return the tracked ones, newest first."""

    def evaluations(self, scenario_id: str, *, limit: int, cursor: str | None = None) -> Page[Evaluation]:
        """Return a page of its answers, newest first, or raise ScenarioNotFound."""
