"""The service as it is run: `stepcast serve` in processes of its own, on a free port."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.postgres_server import free_port

START_SECONDS = 30.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Service:
    """A running service; `start` after `kill` or `stop` is a restart with the same database."""

    def __init__(
        self, database_url: str, *, workers: int = 2, command: list[str] | None = None, **variables: str
    ) -> None:
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="stepcast-serving-")
        self._log = Path(self._folder.name, "log")
        self._command = command or [sys.executable, "-c", "from service.cli import main; main()", "serve"]
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("STEPCAST_", "PROMETHEUS_"))},
            "STEPCAST_DATABASE_URL": database_url,
            "STEPCAST_PORT": str(self.port),
            "STEPCAST_WORKERS": str(workers),
            "STEPCAST_LOG_LEVEL": "WARNING",
            "PROMETHEUS_MULTIPROC_DIR": str(
                Path(self._folder.name, "metrics")
            ),  # ours to remove, whatever way the service ends
            **variables,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.started_in_seconds = self.start()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> float:
        """Start it, wait until it is ready, and return how long that took. [s]"""
        began = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environ, stdout=log, stderr=log, start_new_session=True
            )
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() - began > START_SECONDS:
                self.kill()
                raise RuntimeError(f"the service did not start:\n{self.log()}")
            time.sleep(0.02)
        return time.monotonic() - began

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = {}) -> Answer:
        """Make one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            kind = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, text, {**kind, **headers})
            response = connection.getresponse()
            content = response.read()
            is_json = "json" in (response.headers.get_content_type())
            return Answer(response.status, response.headers, json.loads(content) if is_json else content.decode())
        finally:
            connection.close()

    def processes(self) -> list[psutil.Process]:
        """Return the master and its workers."""
        if self._process is None:
            return []
        master = psutil.Process(self._process.pid)
        return [master, *master.children(recursive=True)]

    def kill(self) -> None:
        """SIGKILL every process: nothing is flushed or said."""
        if self._process is None:
            return
        with suppress(psutil.NoSuchProcess):
            for process in self.processes():
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        """Stop it as an orchestrator would, and remove what it wrote beside its database."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(15)
            self.kill()
        self._folder.cleanup()

    def log(self) -> str:
        """Return what it wrote so far."""
        return self._log.read_text(errors="replace")

    def _is_ready(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/readyz").status == 200
        return False
