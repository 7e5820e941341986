"""The schema that every request is read through: unknown fields are refused, and every problem is told at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields
from marshmallow.exceptions import SCHEMA

from service.errors import FieldProblem
from service.http.fields import StatedField, nearest
from service.http.json_body import escape


class StrictSchema(Schema):
    """A request's shape. Sense (what contradicts what) is for the planner and the core."""

    class Meta:
        unknown = RAISE

    def problems(
        self, error: ValidationError, document: Mapping[str, Any], earlier: Sequence[FieldProblem] = ()
    ) -> list[FieldProblem]:
        """Return everything wrong with a document that this schema refused, in the schema's order.

        What was found `earlier`, on the way from a query to the document, comes with it and speaks for its field.
        """
        told = {problem.pointer for problem in earlier}
        found = [each for each in self._problems_of(error.messages_dict, document) if each.pointer not in told]
        return self.in_order([*earlier, *found])

    def in_order(self, problems: Iterable[FieldProblem]) -> list[FieldProblem]:
        """Return problems in the order of the schema's fields; those of no field last."""
        order = {name: place for place, name in enumerate(self.fields)}
        return sorted(problems, key=lambda problem: order.get(problem.pointer[1:].split("/")[0], len(order)))

    def _problems_of(self, messages: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[FieldProblem]:
        for name, found in messages.items():
            pointer = f"/{escape(str(name))}"
            if name == SCHEMA:
                yield from _flattened("", found, document)
            elif name not in self.fields:
                known = list(self.fields)
                yield FieldProblem(pointer, "is not a field of this request", name, known, nearest(name, known))
            elif name not in document:
                yield FieldProblem(pointer, "is required", None, self._allowed(name))
            elif document[name] is None:
                yield FieldProblem(pointer, "may not be null", None, self._allowed(name))
            elif (inner := _nested(self.fields[name])) and isinstance(found, dict) and isinstance(document[name], dict):
                yield from (at(pointer, problem) for problem in inner._problems_of(found, document[name]))
            else:
                yield from _flattened(pointer, found, document[name])

    def _allowed(self, name: str) -> Any:
        """Return what a field that was not given would take."""
        field = self.fields[name]
        schema = field.json_schema() if isinstance(field, StatedField) else {}
        bounds = {"min": schema.get("minimum"), "max": schema.get("maximum")}
        return schema.get("enum") or (bounds if "minimum" in schema else field.metadata.get("description"))


def _nested(field: fields.Field[Any]) -> StrictSchema | None:
    schema = field.schema if isinstance(field, fields.Nested) else None
    return schema if isinstance(schema, StrictSchema) else None


def at(pointer: str, problem: FieldProblem) -> FieldProblem:
    """Return a problem of a part as a problem of the whole that has the part at `pointer`."""
    return replace(problem, pointer=pointer + problem.pointer)


def _flattened(pointer: str, found: Any, value: Any) -> Iterator[FieldProblem]:
    """Yield the problems in marshmallow's nest of messages."""
    if isinstance(found, Mapping):
        for key, item in found.items():
            within = value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None
            yield from _flattened(pointer if key == SCHEMA else f"{pointer}/{escape(str(key))}", item, within)
    elif isinstance(found, list):
        for item in found:
            yield from _flattened(pointer, item, value)
    elif isinstance(found, FieldProblem):
        yield at(pointer, found)
    else:
        yield FieldProblem(pointer, str(found)[:1].lower() + str(found)[1:].rstrip("."), value)
