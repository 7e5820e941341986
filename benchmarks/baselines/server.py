"""Serve a bare application under the very gunicorn settings of the service."""

from __future__ import annotations

from flask import Flask

from service.cli.server import Server
from service.settings import Settings


class BareServer(Server):
    """Gunicorn as `stepcast serve` runs it, with another application."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        app.add_url_rule("/readyz", view_func=dict)
        super().__init__(Settings.from_environ())

    def load(self) -> Flask:
        return self._app
