"""Query parameters as the JSON object they stand for: `traffic.slo_seconds=3` is nested, text becomes numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields
from werkzeug.datastructures import MultiDict

from service.errors import FieldProblem
from service.http.fields import StatedField
from service.http.json_body import MAX_DEPTH, escape, unstorable_text

FORMAT = "format"  # chooses how the answer is written; never a field of a question


def read_query(arguments: MultiDict[str, str], schema: Schema) -> tuple[dict[str, Any], list[FieldProblem]]:
    """Return the query's parameters, typed by the schema's fields, and what is wrong with them; `format` is left out.

    Numbers are read as in JSON: `gpus=8`, `gpus=8.0` and `gpus=8e0` are the same; `true` and `false` are booleans.
    A parameter that is given twice, is empty or contradicts another is a problem.
    """
    document: dict[str, Any] = {}
    problems: list[FieldProblem] = []
    for name, values in arguments.lists():
        if name == FORMAT:
            continue
        path = name.split(".")
        pointer = "".join(f"/{escape(part)}" for part in path[:MAX_DEPTH])
        if len(values) > 1:
            problems.append(FieldProblem(pointer, "is given more than once", values, "one value"))
        elif values[0] == "":
            problems.append(FieldProblem(pointer, "is empty; leave it out or give a value", "", "a value"))
        elif unstorable := unstorable_text(pointer, name + values[0]):
            problems.append(unstorable)
        elif len(path) > MAX_DEPTH or not _put(document, path, _typed(schema, path, values[0])):
            problems.append(FieldProblem(pointer, "contradicts another parameter", values[0]))
    return document, problems


def other_parameters(arguments: MultiDict[str, str]) -> list[FieldProblem]:
    """Return what is wrong with the query of a request whose question is its body: anything but `format`."""
    return [
        FieldProblem(f"/{escape(name)}", "is not a query parameter of this request", value, [FORMAT])
        for name, value in arguments.items()
        if name != FORMAT
    ]


def _typed(schema: Schema, path: list[str], text: str) -> Any:
    field: Any = schema.fields.get(path[0])
    for part in path[1:]:
        field = field.schema.fields.get(part) if isinstance(field, fields.Nested) else None
    return field.from_query(text) if isinstance(field, StatedField) else text


def _put(document: dict[str, Any], path: list[str], value: Any) -> bool:
    for part in path[:-1]:
        inner = document.setdefault(part, {})
        if not isinstance(inner, dict):
            return False
        document = inner
    if path[-1] in document:
        return False
    document[path[-1]] = value
    return True


def as_parameters(schema: Mapping[str, Any], required: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Return the OpenAPI parameters of a query with these properties."""
    parameters = []
    for name, prop in schema.items():
        shown = {key: item for key, item in prop.items() if key not in ("description", "examples")}
        entry = {"name": name, "in": "query", "required": name in required, "schema": _without_null(shown)}
        if "description" in prop:
            entry["description"] = prop["description"]
        parameters.append(entry)
    return parameters


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null, and inline objects: neither can be written in a query."""
    if "anyOf" in schema:
        schema = schema | {"anyOf": [one for one in schema["anyOf"] if one.get("type") not in ("null", "object")]}
    if isinstance(schema.get("type"), list):
        schema = schema | {"type": next(one for one in schema["type"] if one != "null")}
    if "enum" in schema:
        schema = schema | {"enum": [one for one in schema["enum"] if one is not None]}
    return schema
