"""A Prometheus of our own, for tests: the machine's binaries, a free port, a folder under the temporary one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.postgres_server import free_port
from tests.serving import Service

_WAIT_SECONDS = 30.0
_SCRAPE_SECONDS = 1


def installed(name: str) -> str:
    """Return the path of prometheus or promtool. Without one a test is skipped; on CI that is a failure."""
    found = shutil.which(name)
    if found is None:
        missing = f"{name} is not on this machine: install Debian's package `prometheus`"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


class Prometheus:
    """A running server that scrapes services by a configuration whose targets are put in; `stop` removes it."""

    def __init__(self, configuration: Path, job: str, services: list[Service]) -> None:
        program = installed("prometheus")
        self._folder = tempfile.TemporaryDirectory(prefix="stepcast-prometheus-")
        self._log = Path(self._folder.name, "log")
        self._port = free_port()
        command = [
            program, f"--config.file={self._written(configuration, job, services)}",
            f"--storage.tsdb.path={self._folder.name}/data", f"--web.listen-address=127.0.0.1:{self._port}",
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            # A rate needs two samples.
            self.wait_for(f'count_over_time(up{{job="{job}"}}[1m]) >= 2 and on (instance) up == 1', len(services))
        except BaseException:
            self.stop()
            raise

    def _written(self, configuration: Path, job: str, services: list[Service]) -> Path:
        document = yaml.safe_load(configuration.read_text(encoding="utf-8"))
        interval = f"{_SCRAPE_SECONDS}s"
        document["global"] = {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval}
        document["rule_files"] = [str(configuration.parent / pattern) for pattern in document["rule_files"]]
        (chosen,) = (config for config in document["scrape_configs"] if config["job_name"] == job)
        targets = {"targets": [f"127.0.0.1:{service.port}" for service in services]}
        kept = {name: value for name, value in chosen.items() if not name.endswith("_sd_configs")}
        document["scrape_configs"] = [kept | {"static_configs": [targets]}]
        path = Path(self._folder.name, "prometheus.yml")
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of its API."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/{path}?{query}", timeout=20) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[tuple[Mapping[str, str], float]]:
        """Return (labels, value) of each series of an instant vector, as it is now."""
        result = self.ask("query", query=expression)["result"]
        return [(series["metric"], float(series["value"][1])) for series in result]

    def wait_for(self, expression: str, series: int) -> None:
        """Wait until an expression has that many series."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            with suppress(OSError):  # not up yet
                if len(self.query(expression)) == series:
                    return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Prometheus has not {series} of {expression}:\n{self.log()}")
            time.sleep(0.2)

    def log(self) -> str:
        """Return what it wrote so far."""
        return self._log.read_text(errors="replace")

    def stop(self) -> None:
        """End it and remove its files."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
