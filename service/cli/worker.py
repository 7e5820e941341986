"""Gunicorn's threaded worker, whose own refusals (a request that is no HTTP) are problem documents as well."""

from __future__ import annotations

import logging
from http import HTTPStatus
from secrets import token_hex
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from service.http.problem_types import CODE_OF_STATUS, PROBLEM_TYPES
from service.http.problems import PROBLEM_JSON, problem_body, problem_of

_log = logging.getLogger("stepcast.problems")


class ProblemWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Answers what never reaches the application in the form that the application uses."""

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        super().handle_error(req, _ProblemSocket(client), addr, exc)


class _ProblemSocket:
    """A socket through which gunicorn's HTML error page leaves as a problem document."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def sendall(self, page: bytes) -> None:
        self._client.sendall(problem_page(int(page.split(b" ", 2)[1])))


def problem_page(status: int) -> bytes:
    """Return a whole HTTP answer for a status of gunicorn's own."""
    code = CODE_OF_STATUS.get(status, "")
    detail = PROBLEM_TYPES[code].meaning if code else HTTPStatus(status).phrase
    problem = problem_of(code, detail, status=status, request_id=token_hex(8))
    body = problem_body(problem)
    _log.warning("not a request", extra={"fields": {"status": status}, "request_id": problem.request_id})
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Connection: close",
        f"Content-Type: {PROBLEM_JSON}",
        f"Content-Length: {len(body)}",
        f"X-Request-ID: {problem.request_id}",
        "",
        "",
    )
    return "\r\n".join(head).encode("ascii") + body
