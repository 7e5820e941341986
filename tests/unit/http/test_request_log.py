"""Every request gets an id and a line, even one whose application breaks."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.test import create_environ, run_wsgi_app

from service.http.request_log import RequestLog

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


def answers(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("204 No Content", [])
    return [b""]


def breaks(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    raise RuntimeError("broken")


@pytest.fixture(name="log")
def _log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "stepcast.requests")
    return caplog


def fields_of(log: pytest.LogCaptureFixture) -> dict[str, Any]:
    (record,) = log.records
    return dict(vars(record)["fields"])


@pytest.mark.parametrize("given", ["", "two words", "x" * 65, "line\nbreak", "ünïcode"])
def test_an_id_that_is_none_is_replaced(given: str) -> None:
    environ = create_environ("/") | {"HTTP_X_REQUEST_ID": given}
    _, _, headers = run_wsgi_app(RequestLog(answers), environ)
    assert re.fullmatch("[0-9a-f]{16}", headers["X-Request-ID"])


def test_the_line_has_the_template_and_only_the_start_of_the_path(log: pytest.LogCaptureFixture) -> None:
    run_wsgi_app(RequestLog(answers), create_environ("/" + "x" * 999, method="PUT"))
    fields = fields_of(log)
    assert (fields["method"], fields["route"], fields["status"]) == ("PUT", "unmatched", 204)
    assert len(fields["path"]) == 200
    assert fields["seconds"] >= 0


def test_a_broken_application_is_logged_as_500(log: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RuntimeError):
        run_wsgi_app(RequestLog(breaks), create_environ("/"))
    assert fields_of(log)["status"] == 500
