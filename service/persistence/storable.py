"""Text that both databases can keep: no U+0000, no half of a surrogate pair, no name too long to look up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from service.errors import FieldProblem, InvalidScenario
from service.planning.scenarios import NewScenario, ScenarioChanges

MAX_NAME_CHARACTERS = 500  # Postgres indexes values of up to 2.7 kB
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def refuse_unstorable(scenario: NewScenario | ScenarioChanges) -> None:
    """Raise InvalidScenario with every text that could not be kept on SQLite and Postgres alike."""
    problems = [problem for field in fields(scenario) for problem in _found(getattr(scenario, field.name), field.name)]
    if isinstance(scenario, NewScenario) and len(scenario.name) > MAX_NAME_CHARACTERS:
        problems.append(FieldProblem("/name", "too long", len(scenario.name), {"max": MAX_NAME_CHARACTERS}))
    if problems:
        raise InvalidScenario("The scenario holds text that cannot be kept.", problems)


def _found(value: Any, path: str) -> Iterator[FieldProblem]:
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            why = "holds a null character or half of a surrogate pair"
            yield FieldProblem(f"/{path}", why, ascii(value), "any other Unicode text")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _found(name, path)
            yield from _found(inner, f"{path}/{name}")
    elif isinstance(value, Sequence):
        for place, inner in enumerate(value):
            yield from _found(inner, f"{path}/{place}")
