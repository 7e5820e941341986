"""Around every request: an id, one line in the log, one count in the metrics."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from service.http.metrics import count_request

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_log = logging.getLogger("stepcast.requests")


class RequestLog:
    """WSGI middleware: gives the request its id, and tells the log and the metrics how it went."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.perf_counter()
        given = environ.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _GIVEN_ID.fullmatch(given) else token_hex(8)
        environ["stepcast.request_id"] = request_id
        answered, route = "500", "unmatched"

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Callable[[bytes], object]:
            nonlocal answered, route
            answered = status[:3]
            # Flask forgets the request once it is answered, so the route is read now.
            rule = getattr(environ.get("werkzeug.request"), "url_rule", None)
            route = rule.rule if rule is not None else route
            headers.append(("X-Request-ID", request_id))
            return start_response(status, headers, *rest)

        try:
            return self._application(environ, start)
        finally:
            _tell(environ, route, answered, time.perf_counter() - started)


def _tell(environ: WSGIEnvironment, route: str, status: str, seconds: float) -> None:
    method = environ.get("REQUEST_METHOD", "")
    count_request(method, route, status, seconds)
    if _log.isEnabledFor(logging.INFO):
        fields = {
            "request_id": environ["stepcast.request_id"],
            "method": method,
            "route": route,
            "path": environ.get("PATH_INFO", "")[:200],
            "status": int(status),
            "seconds": round(seconds, 6),
            "client": environ.get("REMOTE_ADDR"),
        }
        # Not _log.info: it would walk the stack for a line number that nobody prints.
        record = _log.makeRecord(_log.name, logging.INFO, "", 0, "request", (), None, extra={"fields": fields})
        _log.handle(record)
