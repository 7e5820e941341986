"""The OpenAPI 3.1 document, made from the very rows that the routes are made from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from service import __version__
from service.http.operations import Answer, Operation
from service.http.problem_types import PROBLEM_TYPES
from service.http.problems import PROBLEM_JSON, ProblemSchema
from service.http.query import as_parameters

_INTRODUCTION = """Capacity planning for AI clusters: what a collective, a training step or a fleet takes, and why.

Units are SI and stand in each name (`_bytes`, `_seconds`, `_bytes_per_second`). Sizes are whole bytes, or text with a
unit: `141GB` is 10^9, `4GiB` is 2^30. Every estimate shows its working, a range with its basis, and the textbook bound.
Whatever is refused is answered as RFC 9457 problem details, with every problem at once; see /problems.
"""
_ALWAYS = (500,)
_GUARDED = (401, 403, 503)


def openapi_document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document for the operations."""
    plugin = MarshmallowPlugin(schema_name_resolver=_schema_name)
    spec = APISpec(
        title="Stepcast",
        version=__version__,
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": _INTRODUCTION, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        servers=[{"url": "/"}],
        tags=[{"name": name} for name in dict.fromkeys(operation.tag for operation in operations)],
    )
    spec.components.security_scheme("token", {"type": "http", "scheme": "bearer"})
    spec.components.schema("Problem", schema=ProblemSchema())
    for status, codes in _codes_by_status().items():
        spec.components.response(f"Problem{status}", _problem_response(status, codes))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, plugin)
    for path, methods in paths.items():
        spec.path(path=path, operations=methods)
    return spec.to_dict()


def _schema_name(schema: Any) -> str:
    cls = schema if isinstance(schema, type) else type(schema)
    return cls.__name__.removesuffix("Schema")


def _operation(operation: Operation, plugin: MarshmallowPlugin) -> dict[str, Any]:
    statuses = {*operation.problems, *_ALWAYS, *(_GUARDED if operation.scope else ())}
    shown: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _parameters(operation, plugin),
        "responses": {str(status): _answer(answer) for status, answer in operation.answers.items()}
        | {str(status): f"Problem{status}" for status in sorted(statuses)},
        "security": [{"token": []}, {}] if operation.scope else [{}],
    }
    if operation.description:
        shown["description"] = operation.description
    if operation.body is not None:
        media: dict[str, Any] = {"schema": operation.body}
        if operation.body_examples:
            media["examples"] = {name: {"value": value} for name, value in operation.body_examples.items()}
        shown["requestBody"] = {"required": True, "content": {"application/json": media}}
    return shown


def _parameters(operation: Operation, plugin: MarshmallowPlugin) -> list[dict[str, Any]]:
    named = {parameter["name"] for parameter in operation.parameters}
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"<(?:\w+:)?(\w+)>", operation.path)
        if name not in named
    ]
    query: list[dict[str, Any]] = []
    if operation.query is not None:
        converter: Any = plugin.converter  # set when the plugin was given to the APISpec
        shape = converter.schema2jsonschema(operation.query)
        query = as_parameters(shape["properties"], frozenset(shape.get("required", ())))
    forms = ["json"]
    for answer in operation.answers.values():
        forms += [{"text/plain": "text", "text/csv": "csv"}[media_type] for media_type in answer.other_forms]
    if len(forms) > 1:
        description = "The form of the answer; wins over Accept."
        query.append(
            {"name": "format", "in": "query", "description": description, "schema": {"type": "string", "enum": forms}}
        )
    return [*(dict(parameter) for parameter in operation.parameters), *in_path, *query]


def _answer(answer: Answer) -> dict[str, Any]:
    shown: dict[str, Any] = {"description": answer.description}
    if answer.schema is not None:
        media: dict[str, Any] = {"schema": answer.schema if isinstance(answer.schema, Schema) else dict(answer.schema)}
        if answer.example is not None:
            media["example"] = answer.example
        others = {
            media_type: {"schema": {"type": "string"}, "example": example}
            for media_type, example in answer.other_forms.items()
        }
        shown["content"] = {answer.media_type: media, **others}
    if answer.headers:
        shown["headers"] = {
            name: {"description": description, "schema": {"type": "string"}}
            for name, description in answer.headers.items()
        }
    return shown


def _codes_by_status() -> Mapping[int, list[str]]:
    statuses: dict[int, list[str]] = {}
    for row in PROBLEM_TYPES.values():
        statuses.setdefault(row.status, []).append(row.code)
    return statuses


def _problem_response(status: int, codes: Sequence[str]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": "; ".join(f"{PROBLEM_TYPES[code].title} (/problems/{code})" for code in codes),
        "content": {PROBLEM_JSON: {"schema": "Problem"}},
    }
    header = {401: "WWW-Authenticate", 403: "WWW-Authenticate", 405: "Allow", 503: "Retry-After"}.get(status)
    if header:
        response["headers"] = {header: {"schema": {"type": "string"}}}
    return response
