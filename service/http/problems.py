"""Whatever goes wrong, answered as RFC 9457 says: one document, dumped through the very schema that OpenAPI shows."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from flask import Flask, Response, request
from marshmallow import Schema, fields, post_dump
from werkzeug.exceptions import HTTPException

from service.errors import FieldProblem, StepcastError, UnknownCatalogEntry
from service.http.echo import echo, shorten
from service.http.problem_types import CODE_OF_STATUS, PROBLEM_TYPES, status_of
from service.http.refusals import Refused

PROBLEM_JSON: Final = "application/problem+json"
_LONGEST_DETAIL: Final = 1000
_MOST_PROBLEMS: Final = 100
_log = logging.getLogger("stepcast.problems")


class FieldProblemSchema(Schema):
    """One thing wrong with one field."""

    pointer = fields.String(
        required=True, metadata={"description": "JSON pointer to the field; empty for the whole body."}
    )
    message = fields.String(required=True, metadata={"description": "What is wrong, in a sentence."})
    value = fields.Raw(
        required=True,
        allow_none=True,
        metadata={"description": "What was given; long text is cut, numbers that JSON cannot carry are text."},
    )
    allowed = fields.Raw(metadata={"description": "What would be taken: a list, `{min, max}` or a sentence."})
    suggestion = fields.Raw(metadata={"description": "The nearest value that would be taken."})

    @post_dump
    def _drop_unknown(self, document: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {name: item for name, item in document.items() if item is not None or name == "value"}


class ProblemSchema(Schema):
    """RFC 9457 problem details."""

    type = fields.String(required=True, metadata={"description": "Where the problem is explained: /problems/<code>."})
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    errors = fields.List(fields.Nested(FieldProblemSchema), required=True)
    request_id = fields.String(required=True, metadata={"description": "The request's id in the service's log."})


_SCHEMA = ProblemSchema()


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document before it is dumped."""

    type: str
    title: str
    status: int
    detail: str
    errors: Sequence[FieldProblem]
    request_id: str


def problem_response(
    code: str,
    detail: str,
    problems: Sequence[FieldProblem] = (),
    *,
    status: int | None = None,
    title: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer for a row of `problem_types`; status and title are the row's unless given."""
    request_id = request.environ.get("stepcast.request_id", "")
    problem = problem_of(code, detail, problems, status=status, title=title, request_id=request_id)
    return Response(problem_body(problem), problem.status, headers=dict(headers or {}), content_type=PROBLEM_JSON)


def problem_of(
    code: str,
    detail: str,
    problems: Sequence[FieldProblem] = (),
    *,
    status: int | None = None,
    title: str | None = None,
    request_id: str,
) -> Problem:
    """Return the document for a row of `problem_types`, or about:blank for a code that has none."""
    row = PROBLEM_TYPES.get(code)
    return Problem(
        type=f"/problems/{code}" if row else "about:blank",
        title=title or (row.title if row else detail),
        status=status or (row.status if row else 500),
        detail=detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}…",
        errors=[_presentable(item) for item in problems[:_MOST_PROBLEMS]],
        request_id=request_id,
    )


def problem_body(problem: Problem) -> bytes:
    """Return a problem as JSON. In ASCII: what is echoed may hold halves of characters that UTF-8 cannot carry."""
    return json.dumps(_SCHEMA.dump(problem), allow_nan=False).encode("ascii")


def _presentable(problem: FieldProblem) -> FieldProblem:
    return FieldProblem(
        problem.pointer if len(problem.pointer) <= _LONGEST_DETAIL else shorten(problem.pointer),
        problem.message if len(problem.message) <= _LONGEST_DETAIL else shorten(problem.message),
        echo(problem.value),
        echo(problem.allowed),
        echo(problem.suggestion),
    )


def register(app: Flask) -> None:
    """Let the application answer every exception with a problem document."""
    app.register_error_handler(Exception, _unforeseen)
    app.register_error_handler(HTTPException, _http_exception)
    app.register_error_handler(StepcastError, _refusal)
    app.register_error_handler(Refused, _refused)


def _refused(refused: Refused) -> Response:
    return problem_response(refused.code, refused.detail, refused.problems, headers=refused.headers)


def _refusal(refusal: StepcastError) -> Response:
    status = status_of(type(refusal))
    if isinstance(refusal, UnknownCatalogEntry) and "entry_id" in (request.view_args or {}):
        status = 404  # the entry is the resource that was asked for, not a field of a question
    headers = {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem_response(
        refusal.code, refusal.detail, refusal.problems, status=status, title=refusal.title, headers=headers
    )


def _http_exception(raised: HTTPException) -> Response | HTTPException:
    status = raised.code or 500
    if status < HTTPStatus.BAD_REQUEST:
        return raised  # a redirect
    kept = {name: value for name, value in raised.get_headers() if name not in ("Content-Type", "Content-Length")}
    code = CODE_OF_STATUS.get(status, "")
    own_words = raised.description if raised.description != type(raised).description else None
    detail = own_words or (PROBLEM_TYPES[code].meaning if code else HTTPStatus(status).phrase)
    return problem_response(code, detail, status=status, headers=kept)


def _unforeseen(raised: Exception) -> Response:
    _log.error("unforeseen", exc_info=raised, extra={"request_id": request.environ.get("stepcast.request_id")})
    return problem_response("internal-error", "The service failed; its log tells more under this request_id.")
