"""ScenarioStore over SQLAlchemy Core: one short transaction a write, one statement a read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, Select, Text, cast, func, select, type_coerce, update
from sqlalchemy.dialects import postgresql, sqlite

from service.errors import IdempotencyConflict, ScenarioNotFound, StaleRevision
from service.persistence.cursors import from_cursor, invalid_cursor, to_cursor
from service.persistence.database import SqlDatabase
from service.persistence.identifiers import canonical_id, new_id
from service.persistence.prepared_inserts import PreparedInserts
from service.persistence.storable import refuse_unstorable
from service.persistence.tables import evaluations, idempotency_keys, scenarios
from service.planning.scenarios import Evaluation, NewScenario, Page, Scenario, ScenarioChanges, ScenarioFilter
from service.planning.tracked import TrackedScenario

_SCENARIOS, _EVALUATIONS = "scenarios", "evaluations"  # the lists that cursors belong to
_MAX_ID_CHARACTERS = 255

_EVALUATION = (evaluations.c.id, evaluations.c.created_at, evaluations.c.estimate)
_IS_NEWEST = (evaluations.c.scenario_id == scenarios.c.id) & (evaluations.c.number == scenarios.c.evaluation_count)
_WITH_NEWEST_EVALUATION = select(
    scenarios,
    evaluations.c.id.label("evaluation_id"),
    evaluations.c.created_at.label("evaluated_at"),
    evaluations.c.estimate,
).join(evaluations, _IS_NEWEST)
# The answers as text: a scrape reads a thousand, and orjson reads them several times faster.
_TRACKED = (
    select(
        *(scenarios.c[name] for name in ("id", "name", "kind", "model", "system")),
        evaluations.c.created_at.label("evaluated_at"),
        cast(evaluations.c.estimate, Text).label("estimate"),
    )
    .join(evaluations, _IS_NEWEST)
    .where(scenarios.c.tracked)
    .order_by(scenarios.c.id.desc())
)
# Postgres waits here for a transaction that claims the same key, so that the loser finds the winner's answer.
_CLAIM_KEY = {
    "sqlite": sqlite.insert(idempotency_keys).on_conflict_do_nothing().returning(idempotency_keys.c.key_sha256),
    "postgresql": postgresql.insert(idempotency_keys).on_conflict_do_nothing().returning(idempotency_keys.c.key_sha256),
}


class SqlScenarioStore:
    """Keeps scenarios in a database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._insert = PreparedInserts(database.engine.dialect, scenarios, evaluations)

    def add(
        self, scenario: NewScenario, estimate: Mapping[str, Any], idempotency_key: str | None = None
    ) -> tuple[Scenario, bool]:
        """Keep a scenario and its first evaluation; False when the idempotency key had already kept it.

        Raises
        ------
        IdempotencyConflict
            When the key was used for another request.
        InvalidScenario
            When a text cannot be kept.
        """
        refuse_unstorable(scenario)
        now = datetime.now(UTC)
        row = _scenario_row(scenario, estimate, now)
        evaluation = Evaluation(new_id(), now, estimate)
        values = self._insert.spelled(row, _evaluation_row(row["id"], 1, evaluation))
        if idempotency_key is None:
            with self._database.writing_at_once() as connection:
                self._insert.execute(connection, values)
            return _scenario(row, evaluation), True
        with self._database.writing() as connection:
            claim = _claim(idempotency_key, scenario, row)
            if connection.execute(_CLAIM_KEY[connection.dialect.name], claim).first() is None:
                return _kept_before(connection, claim), False
            self._insert.execute(connection, values)
        return _scenario(row, evaluation), True

    def get(self, scenario_id: str) -> Scenario:
        """Return one, or raise ScenarioNotFound."""
        key = canonical_id(scenario_id)
        with self._database.reading() as connection:
            row = connection.execute(_WITH_NEWEST_EVALUATION.where(scenarios.c.id == key)).one_or_none()
        if row is None:
            raise _not_found(scenario_id)
        return _from_row(row)

    def change(self, scenario_id: str, changes: ScenarioChanges, revisions: Collection[int] | None) -> Scenario:
        """Change one that is at one of these revisions (None: at any), and return it.

        Raises
        ------
        ScenarioNotFound
            When there is none.
        StaleRevision
            When it is at another revision.
        InvalidScenario
            When a text cannot be kept.
        """
        refuse_unstorable(changes)
        key = canonical_id(scenario_id)
        values = {name: value for name, value in asdict(changes).items() if value is not None}
        found = scenarios.c.id == key
        changed = update(scenarios).where(found if revisions is None else found & scenarios.c.revision.in_(revisions))
        with self._database.writing() as connection:
            done = connection.execute(
                changed.values(**values, revision=scenarios.c.revision + 1, updated_at=datetime.now(UTC))
            )
            row = connection.execute(_WITH_NEWEST_EVALUATION.where(found)).one_or_none()
        if row is None:
            raise _not_found(scenario_id)
        if not done.rowcount:
            raise StaleRevision(f"The scenario was changed since it was read: it is at revision {row.revision}.")
        return _from_row(row)

    def list(self, where: ScenarioFilter, *, limit: int, cursor: str | None = None) -> Page[Scenario]:
        """Return a page, newest first.

        Raises
        ------
        InvalidScenario
            At ``/cursor``, for one that this list did not give.
        """
        query = self._filtered(where).order_by(scenarios.c.id.desc()).limit(limit + 1)
        if cursor is not None:
            key = canonical_id(from_cursor(_SCENARIOS, cursor))
            if key is None:
                raise invalid_cursor(cursor)
            query = query.where(scenarios.c.id < key)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        items = [_from_row(row) for row in rows[:limit]]
        return Page(items, to_cursor(_SCENARIOS, items[-1].id) if len(rows) > limit else None)

    def tracked(self, *, limit: int) -> Sequence[TrackedScenario]:
        """Return the tracked ones with their newest answers, newest first."""
        with self._database.reading() as connection:
            rows = connection.execute(_TRACKED.limit(limit)).all()
        return [TrackedScenario(**{**row._mapping, "estimate": _estimate(row.estimate)}) for row in rows]

    def evaluations(self, scenario_id: str, *, limit: int, cursor: str | None = None) -> Page[Evaluation]:
        """Return a page of its answers, newest first, or raise ScenarioNotFound."""
        key = canonical_id(scenario_id)
        query = (
            select(evaluations.c.number, *_EVALUATION)
            .where(evaluations.c.scenario_id == key)
            .order_by(evaluations.c.number.desc())
            .limit(limit + 1)
        )
        if cursor is not None:
            query = query.where(evaluations.c.number < _number(cursor))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            if not rows and not connection.execute(select(scenarios.c.id).where(scenarios.c.id == key)).first():
                raise _not_found(scenario_id)
        items = [Evaluation(row.id, row.created_at, row.estimate) for row in rows[:limit]]
        return Page(items, to_cursor(_EVALUATIONS, str(rows[limit - 1].number)) if len(rows) > limit else None)

    def _filtered(self, where: ScenarioFilter) -> Select[Any]:
        query = _WITH_NEWEST_EVALUATION
        for column in ("kind", "model", "system", "name"):
            if (value := getattr(where, column)) is not None:
                query = query.where(scenarios.c[column] == value)
        if where.tag is not None:
            query = query.where(_has_tag(where.tag, self._database.engine.dialect.name))
        return query


def _has_tag(tag: str, dialect: str) -> ColumnElement[bool]:
    if dialect == "postgresql":
        return type_coerce(scenarios.c.tags, postgresql.JSONB).contains([tag])
    each = func.json_each(scenarios.c.tags).table_valued("value")
    return select(1).select_from(each).where(each.c.value == tag).exists()


def _number(cursor: str) -> int:
    key = from_cursor(_EVALUATIONS, cursor)
    if not (key.isdecimal() and len(key) < 10):
        raise invalid_cursor(cursor)
    return int(key)


def _claim(key: str, scenario: NewScenario, row: Mapping[str, Any]) -> dict[str, Any]:
    request = json.dumps(asdict(scenario), sort_keys=True)
    return {
        "key_sha256": hashlib.sha256(key.encode()).hexdigest(),
        "request_sha256": hashlib.sha256(request.encode()).hexdigest(),
        "scenario_id": row["id"],
        "created_at": row["created_at"],
    }


def _kept_before(connection: Connection, claim: Mapping[str, Any]) -> Scenario:
    """Return what the key kept first, with its first answer."""
    same_key = idempotency_keys.c.key_sha256 == claim["key_sha256"]
    kept = connection.execute(select(idempotency_keys).where(same_key)).one()
    if kept.request_sha256 != claim["request_sha256"]:
        raise IdempotencyConflict(
            "This idempotency key was used for another request: send the same request again, or a new key."
        )
    scenario = connection.execute(select(scenarios).where(scenarios.c.id == kept.scenario_id)).one()
    first = (evaluations.c.scenario_id == kept.scenario_id) & (evaluations.c.number == 1)
    evaluation = connection.execute(select(*_EVALUATION).where(first)).one()
    return _scenario(scenario._mapping, Evaluation(*evaluation))


def _scenario_row(scenario: NewScenario, estimate: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    resolved = estimate.get("inputs", {})
    return {
        "id": new_id(),
        "name": scenario.name,
        "kind": scenario.kind,
        "inputs": scenario.inputs,
        "tags": scenario.tags,
        "tracked": scenario.tracked,
        "notes": scenario.notes,
        "model": _entry_id(resolved.get("model")),
        "system": _entry_id(resolved.get("system")),
        "revision": 1,
        "evaluation_count": 1,
        "created_at": now,
        "updated_at": now,
    }


def _entry_id(entry: Any) -> str | None:
    """Return the id of a catalogue entry that an estimate was made with: a name, or an inline document with one."""
    name = entry.get("id") if isinstance(entry, Mapping) else entry
    return name[:_MAX_ID_CHARACTERS] if isinstance(name, str) else None


def _evaluation_row(scenario_id: str, number: int, evaluation: Evaluation) -> dict[str, Any]:
    return {
        "id": evaluation.id,
        "scenario_id": scenario_id,
        "number": number,
        "engine_version": evaluation.estimate["engine_version"],
        "catalog_revision": evaluation.estimate["catalog_revision"],
        "estimate": evaluation.estimate,
        "created_at": evaluation.created_at,
    }


def _estimate(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # a whole number that no float holds
        return json.loads(text)


def _from_row(row: Row[Any]) -> Scenario:
    return _scenario(row._mapping, Evaluation(row.evaluation_id, row.evaluated_at, row.estimate))


def _scenario(row: Mapping[Any, Any], evaluation: Evaluation) -> Scenario:
    return Scenario(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        inputs=row["inputs"],
        tags=tuple(row["tags"]),
        tracked=row["tracked"],
        notes=row["notes"],
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        evaluation=evaluation,
    )


def _not_found(scenario_id: str) -> ScenarioNotFound:
    return ScenarioNotFound(f"There is no scenario {scenario_id!r}.")
