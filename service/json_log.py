"""The log: one JSON object a line, on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time
from functools import lru_cache

_to_json = json.JSONEncoder(default=str).encode


@lru_cache(maxsize=8)
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


class JsonLines(logging.Formatter):
    """One JSON object a line; fields given as `extra={"fields": {…}}` or `extra={"request_id": …}` are its members."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if request_id := getattr(record, "request_id", None):
            line["request_id"] = request_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _to_json(line)


def log_to_stderr(level: str) -> None:
    """Let the whole process log JSON lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # each costs, and none is printed
    logging.getLogger("alembic").setLevel(logging.WARNING)  # tells of every connection that it looks at
