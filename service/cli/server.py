"""Gunicorn, run from Python: no configuration file, every setting in sight."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from service.cli.metrics_folder import MetricsFolder
from service.json_log import log_to_stderr
from service.settings import Settings

_METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """One master, `workers` processes of `threads` threads each."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metrics_folder = None if os.environ.get(_METRICS_DIR) else MetricsFolder()
        if self._metrics_folder is not None:
            os.environ[_METRICS_DIR] = str(self._metrics_folder.path)
        from service.app import create_app  # only now: metrics read the environment when they are imported
        from service.cli.worker import ProblemWorker

        self._create_app = create_app
        self._worker_class = ProblemWorker
        super().__init__()

    def load_config(self) -> None:
        settings = self._settings
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        chosen: dict[str, Any] = {
            "bind": f"{host}:{settings.port}",
            "workers": settings.workers,
            "worker_class": self._worker_class,
            "threads": settings.threads,
            "keepalive": 75,  # longer than the idle time of the balancers in front
            "limit_request_line": 8190,
            "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
            "control_socket_disable": True,  # it wants a home directory, which containers lack
            "proc_name": "stepcast",
            "on_starting": self._start_metrics_afresh,
            "child_exit": _forget_worker,
            "on_exit": self._remove_metrics,
            "loglevel": settings.log_level,
            "logger_class": _JsonLog,
        }
        for name, value in chosen.items():
            if name in self.cfg.settings:  # older gunicorns lack some
                self.cfg.set(name, value)

    def load(self) -> Any:
        return self._create_app(self._settings)

    def _start_metrics_afresh(self, _server: Any) -> None:
        """Wipe what an earlier run left. Here only: counters live in these files across reloads of workers."""
        folder = Path(os.environ[_METRICS_DIR])
        folder.mkdir(parents=True, exist_ok=True)
        for file in folder.glob("*.db"):
            file.unlink()

    def _remove_metrics(self, _server: Any) -> None:
        if self._metrics_folder is not None:
            self._metrics_folder.remove()


class _JsonLog(Logger):  # type: ignore[misc]
    """Gunicorn's own log in the service's form. Requests are logged by the service itself, with their route."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        log_to_stderr(cfg.loglevel.upper())
        self.error_log.handlers = []
        self.error_log.propagate = True

    def access(self, *_: Any) -> None:
        pass


def _forget_worker(_server: Any, worker: Any) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
