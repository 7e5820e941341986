"""The table of contents: every endpoint's rows, in the order in which /docs shows them."""

from __future__ import annotations

from typing import Final

from flask import Flask

from service.http import health, operations, pages, problems
from service.http.auth import Gate
from service.http.operations import Operation
from service.http.request_log import RequestLog
from service.http.v1 import catalog_entries, collective_estimates, inference_estimates, scenarios
from service.planning.stores import Services

OPERATIONS: Final[tuple[Operation, ...]] = (
    *collective_estimates.OPERATIONS,
    *inference_estimates.OPERATIONS,
    *scenarios.OPERATIONS,
    *catalog_entries.OPERATIONS,
    *health.OPERATIONS,
)


def build(services: Services) -> Flask:
    """Return the application that answers with these services."""
    app = Flask("stepcast", static_folder=None, template_folder=None)
    app.extensions["stepcast"] = services
    app.config["MAX_CONTENT_LENGTH"] = services.settings.max_body_bytes
    app.url_map.merge_slashes = False
    problems.register(app)
    operations.register(app, OPERATIONS, Gate(services.settings, services.tokens))
    pages.register(app, OPERATIONS)
    app.wsgi_app = RequestLog(app.wsgi_app)  # type: ignore[method-assign]
    return app
