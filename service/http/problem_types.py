"""Every kind of problem that the API answers with, and what to do. The only exception-to-status table."""

from __future__ import annotations

import inspect
from typing import Final, NamedTuple

from service import errors


class ProblemType(NamedTuple):
    """What stands at /problems/<code>."""

    code: str
    status: int
    title: str
    meaning: str


STATUS_OF: Final[dict[type[errors.StepcastError], int]] = {
    errors.UnknownCatalogEntry: 422,  # 404 where the entry is the resource itself; see `problems`
    errors.InvalidScenario: 422,
    errors.ScenarioNotFound: 404,
    errors.CatalogEntryConflict: 409,
    errors.IdempotencyConflict: 409,
    errors.StaleRevision: 412,
    errors.StoreUnavailable: 503,
    errors.StoreFull: 507,
}


def status_of(refusal: type[errors.StepcastError]) -> int:
    """Return the status of a refusal's class: its own, or that of the nearest class above it."""
    return next((STATUS_OF[cls] for cls in refusal.__mro__ if cls in STATUS_OF), 422)


def _refusals(base: type[errors.StepcastError] = errors.StepcastError) -> list[type[errors.StepcastError]]:
    """Return the tree under a refusal, top down."""
    return [found for cls in base.__subclasses__() for found in (cls, *_refusals(cls))]


_OWN = (
    ProblemType(
        "malformed-json",
        400,
        "The body is not JSON that can be read",
        "The body must be one JSON object in UTF-8: each key once, numbers finite, nested no more than 32 deep.",
    ),
    ProblemType("bad-request", 400, "The request cannot be read", "A header or the request itself is not well-formed."),
    ProblemType(
        "unauthorized",
        401,
        "A token is needed",
        "Send `Authorization: Bearer TOKEN`. `stepcast token create` makes one; STEPCAST_API_TOKENS sets some.",
    ),
    ProblemType(
        "forbidden",
        403,
        "The token may not do this",
        "The token is known but lacks the scope that the operation needs: `read` to ask, `write` to keep.",
    ),
    ProblemType("not-found", 404, "Nothing is here", "The path names nothing that is here; /docs lists what is."),
    ProblemType(
        "method-not-allowed", 405, "Not with this method", "The header Allow lists the methods that are taken."
    ),
    ProblemType(
        "not-acceptable",
        406,
        "No such format",
        "Ask for application/json, text/plain or, where the answer is a table, text/csv; or use ?format=.",
    ),
    ProblemType(
        "body-too-large",
        413,
        "The body is too large",
        "The body is longer than STEPCAST_MAX_BODY_BYTES allows; one question takes a few hundred bytes.",
    ),
    ProblemType("unsupported-media-type", 415, "Send application/json", "The Content-Type must be application/json."),
    ProblemType(
        "invalid-request",
        422,
        "The request makes no sense",
        "The request can be read, but fields are unknown, missing or out of range. `errors` lists every one, with what "
        "would be taken.",
    ),
    ProblemType(
        "if-match-needed",
        428,
        "Say what you change",
        "Send the ETag that came with what you read as If-Match, so that nobody's change is lost; `*` changes any.",
    ),
    ProblemType(
        "internal-error",
        500,
        "Something broke here",
        "The fault is the service's. Its log tells more under the answer's request_id.",
    ),
    ProblemType("not-ready", 503, "The service is not ready", "The database is away or its schema is not current."),
)

PROBLEM_TYPES: Final[dict[str, ProblemType]] = {row.code: row for row in _OWN} | {
    cls.code: ProblemType(cls.code, status_of(cls), cls.title, inspect.getdoc(cls) or "") for cls in _refusals()
}
CODE_OF_STATUS: Final = {row.status: row.code for row in reversed(_OWN)} | {400: "bad-request"}
