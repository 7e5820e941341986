"""/healthz, /readyz and /metrics: for whoever keeps the service up. They need no token."""

from __future__ import annotations

from flask import Response, request
from marshmallow import Schema, fields

from service import __version__
from service.http.estimates import json_response
from service.http.metrics import exposition
from service.http.operations import Answer, Operation, services
from service.http.refusals import Refused


class HealthSchema(Schema):
    """How the process is."""

    status = fields.String(required=True, metadata={"enum": ["ok"]})
    version = fields.String(required=True)


class ReadinessSchema(Schema):
    """Whether the process can answer."""

    status = fields.String(required=True, metadata={"enum": ["ready"]})
    catalog_revision = fields.String(required=True)


def healthz() -> Response:
    """Answer while the process is up."""
    return json_response({"status": "ok", "version": __version__})


def readyz() -> Response:
    """Answer 200 while the database is there with a current schema, else 503."""
    ready, why = services().database.ready()
    if not ready:
        raise Refused("not-ready", why, headers={"Retry-After": "1"})
    return json_response({"status": "ready", "catalog_revision": services().catalog.current().revision})


def metrics() -> Response:
    """Answer Prometheus."""
    page, content_type = exposition(request.headers.get("Accept", ""), services())
    return Response(page, content_type=content_type)


OPERATIONS = (
    Operation(
        "GET", "/healthz", "get_health", "Service", "The process is up", healthz,
        {200: Answer("It is.", HealthSchema(), {"status": "ok", "version": __version__})},
    ),
    Operation(
        "GET", "/readyz", "get_readiness", "Service", "The database is reachable and its schema current", readyz,
        {200: Answer("It is.", ReadinessSchema())}, problems=(503,),
    ),
    Operation(
        "GET", "/metrics", "get_metrics", "Service", "Metrics for Prometheus", metrics,
        {200: Answer("All workers' figures.", {"type": "string"}, media_type="text/plain")}, problems=(503,),
    ),
)  # fmt: skip
