"""What an endpoint is: one row from which come its route, its guard and its page in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, cast

from flask import Flask, Response, current_app, request
from marshmallow import Schema

from service.http.auth import Gate
from service.planning.stores import Services

View = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: what it means, its shape, an example, and the other forms it comes in."""

    description: str
    schema: Schema | Mapping[str, Any] | None = None
    example: Any = None
    media_type: str = "application/json"
    other_forms: Mapping[str, str] = field(default_factory=dict)  # media type -> example
    headers: Mapping[str, str] = field(default_factory=dict)  # name -> description


@dataclass(frozen=True, slots=True)
class Operation:
    """A method on a path.

    Parameters
    ----------
    path : str
        Flask's rule, such as ``/v1/scenarios/<scenario_id>``.
    name : str
        The OpenAPI operationId.
    scope : str or None
        What a token must allow; None needs no token.
    query : Schema or None
        Its fields are the query parameters.
    problems : Sequence[int]
        Statuses of the problem answers, those that every operation of its kind has aside.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    view: View
    answers: Mapping[int, Answer]
    scope: str | None = None
    description: str = ""
    query: Schema | None = None
    body: Schema | Mapping[str, Any] | None = None
    body_examples: Mapping[str, Any] = field(default_factory=dict)
    parameters: Sequence[Mapping[str, Any]] = ()
    problems: Sequence[int] = ()


def services() -> Services:
    """Return what the composition root put together."""
    return cast(Services, current_app.extensions["stepcast"])


def register(app: Flask, operations: Sequence[Operation], gate: Gate) -> None:
    """Give the application a route for every operation, behind the gate where it has a scope."""
    for operation in operations:
        app.add_url_rule(
            operation.path,
            endpoint=operation.name,
            view_func=_guarded(operation.view, gate, operation.scope) if operation.scope else operation.view,
            methods=[operation.method],
        )


def _guarded(view: View, gate: Gate, scope: str) -> View:
    @wraps(view)
    def guarded(**path: str) -> Response:
        gate.admit(request, scope)
        return view(**path)

    return guarded
