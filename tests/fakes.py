"""Stand-ins for what persistence keeps: the same protocols, in memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from flask import Flask

from service.app import load_catalog
from service.catalog.catalog import Catalog
from service.errors import (
    CatalogEntryConflict,
    FieldProblem,
    IdempotencyConflict,
    InvalidScenario,
    ScenarioNotFound,
    StaleRevision,
)
from service.http.api import build
from service.planning.scenarios import Evaluation, NewScenario, Page, Scenario, ScenarioChanges, ScenarioFilter
from service.planning.stores import CustomEntry, Services
from service.planning.tracked import TrackedScenario
from service.settings import Settings


@cache
def shipped_catalog() -> Catalog:
    """The shipped catalogue, read once for all tests."""
    return load_catalog()


@dataclass
class FakeScenarios:
    kept: dict[str, Scenario] = field(default_factory=dict)
    keys: dict[str, tuple[NewScenario, str]] = field(default_factory=dict)

    def add(
        self, scenario: NewScenario, estimate: Mapping[str, Any], idempotency_key: str | None = None
    ) -> tuple[Scenario, bool]:
        if idempotency_key in self.keys:
            first, scenario_id = self.keys[idempotency_key]
            if first != scenario:
                raise IdempotencyConflict("the key was used for another request")
            return self.kept[scenario_id], False
        now = datetime.now(UTC)
        new = Scenario(
            str(uuid.uuid4()), scenario.name, scenario.kind, scenario.inputs, scenario.tags, scenario.tracked,
            scenario.notes, 1, now, now, Evaluation(str(uuid.uuid4()), now, estimate),
        )  # fmt: skip
        self.kept[new.id] = new
        if idempotency_key is not None:
            self.keys[idempotency_key] = (scenario, new.id)
        return new, True

    def get(self, scenario_id: str) -> Scenario:
        if scenario_id not in self.kept:
            raise ScenarioNotFound(f"no scenario {scenario_id!r}")
        return self.kept[scenario_id]

    def change(self, scenario_id: str, changes: ScenarioChanges, revisions: Collection[int] | None) -> Scenario:
        kept = self.get(scenario_id)
        if revisions is not None and kept.revision not in revisions:
            raise StaleRevision("it was changed since it was read")
        given = {name: value for name, value in asdict(changes).items() if value is not None}
        new = replace(kept, **given, revision=kept.revision + 1, updated_at=datetime.now(UTC))
        self.kept[scenario_id] = new
        return new

    def list(self, where: ScenarioFilter, *, limit: int, cursor: str | None = None) -> Page[Scenario]:
        found = [
            scenario
            for scenario in reversed(self.kept.values())
            if where.kind in (None, scenario.kind)
            and (where.tag is None or where.tag in scenario.tags)
            and where.name in (None, scenario.name)
            and where.system in (None, scenario.evaluation.estimate["inputs"]["system"])
        ]
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise InvalidScenario("no such cursor", [FieldProblem("/cursor", "is none that this list gave", cursor)])
        start = int(cursor or 0)
        more = len(found) > start + limit
        return Page(found[start : start + limit], str(start + limit) if more else None)

    def tracked(self, *, limit: int) -> Sequence[TrackedScenario]:
        found = [scenario for scenario in reversed(self.kept.values()) if scenario.tracked]
        return [
            TrackedScenario(
                each.id, each.name, each.kind, each.evaluation.estimate["inputs"].get("model"),
                each.evaluation.estimate["inputs"].get("system"), each.evaluation.created_at, each.evaluation.estimate,
            )
            for each in found[:limit]
        ]  # fmt: skip

    def evaluations(self, scenario_id: str, *, limit: int, cursor: str | None = None) -> Page[Evaluation]:
        return Page([self.get(scenario_id).evaluation], None)


@dataclass
class FakeCatalogEntries:
    """Both the store of custom entries and the source of the catalogue."""

    kept: list[CustomEntry] = field(default_factory=list)

    def revision(self) -> int:
        return len(self.kept)

    def entries(self) -> Sequence[CustomEntry]:
        return self.kept

    def add(self, kind: str, document: Mapping[str, Any]) -> CustomEntry:
        if any((each.kind, each.document["id"]) == (kind, document["id"]) for each in self.kept):
            raise CatalogEntryConflict(f"{document['id']!r} is taken")
        entry = CustomEntry(kind, document, 1)
        self.kept.append(entry)
        return entry

    def latest(self) -> Catalog:
        return self.current()

    def current(self) -> Catalog:
        return shipped_catalog().with_custom((each.kind, each.document, each.revision) for each in self.kept)


@dataclass
class FakeTokens:
    kept: dict[str, frozenset[str]] = field(default_factory=dict)

    def accepts(self, token: str) -> frozenset[str] | None:
        return self.kept.get(token)

    def create(self, name: str, scopes: Sequence[str]) -> str:
        self.kept[f"token-of-{name}"] = frozenset(scopes)
        return f"token-of-{name}"

    def any(self) -> bool:
        return bool(self.kept)


@dataclass
class FakeDatabase:
    up: bool = True

    def ready(self) -> tuple[bool, str]:
        return self.up, "" if self.up else "the database does not answer"


def fake_services(environ: Mapping[str, str] | None = None) -> Services:
    """Services that keep everything in memory."""
    entries = FakeCatalogEntries()
    return Services(
        settings=Settings.from_environ(environ or {}),
        catalog=entries,
        scenarios=FakeScenarios(),
        catalog_entries=entries,
        tokens=FakeTokens(),
        database=FakeDatabase(),
    )


def fake_app(environ: Mapping[str, str] | None = None) -> Flask:
    """The application over fakes."""
    return build(fake_services(environ))
