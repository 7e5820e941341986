"""Answers are dumped by the names of the schema that OpenAPI shows, without marshmallow's per-field work.

A planner's dataclass is trusted: its values are SI numbers and enums already. What must not drift is the shape, and
that is read from the schema here.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, cast

from marshmallow import Schema, fields

Dump = Callable[[Any], dict[str, Any]]


def plain_dump(schema: Schema) -> Dump:
    """Return a function from an object to the JSON document that the schema publishes.

    A field that the schema does not require is left out where the object has None.
    """
    names = tuple(schema.fields)
    read: Callable[[Any], Any] = attrgetter(*names)
    optional = tuple(name for name, field in schema.fields.items() if not field.required)
    nested = tuple((name, _nested_dump(field)) for name, field in schema.fields.items() if _is_nested(field))
    if len(names) == 1:
        (name,) = names
        return lambda answer: {name: getattr(answer, name)}
    if not optional and not nested:
        return lambda answer: dict(zip(names, read(answer)))  # noqa: B905  # as many by construction, and this is hot

    def dump(answer: Any) -> dict[str, Any]:
        document = dict(zip(names, read(answer)))  # noqa: B905
        for name in optional:
            if document[name] is None:
                del document[name]
        for name, dump_nested in nested:
            if name in document:
                document[name] = dump_nested(document[name])
        return document

    return dump


def _is_nested(field: fields.Field[Any]) -> bool:
    return isinstance(field, fields.Nested) or (isinstance(field, fields.List) and _is_nested(field.inner))


def _nested_dump(field: fields.Field[Any]) -> Callable[[Any], Any]:
    if isinstance(field, fields.List):
        dump = _nested_dump(field.inner)
        return lambda items: [dump(item) for item in items]
    return plain_dump(cast(fields.Nested, field).schema)
