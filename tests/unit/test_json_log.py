"""The log is one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys

from service.json_log import JsonLines


def test_a_line_has_the_time_the_level_and_the_fields() -> None:
    record = logging.LogRecord("stepcast", logging.WARNING, "", 0, "disk %d %% full", (93,), None)
    record.created, record.msecs = 0.25, 250.0
    record.fields = {"route": "/healthz"}
    line = json.loads(JsonLines().format(record))
    assert line == {
        "time": "1970-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "stepcast",
        "message": "disk 93 % full",
        "route": "/healthz",
    }


def test_an_exception_stays_on_its_line() -> None:
    try:
        raise RuntimeError("two\nlines")
    except RuntimeError:
        record = logging.LogRecord("stepcast", logging.ERROR, "", 0, "broken", (), sys.exc_info())
    record.request_id = "abc"
    text = JsonLines().format(record)
    assert "\n" not in text
    assert json.loads(text)["request_id"] == "abc"
    assert "RuntimeError" in json.loads(text)["exception"]
