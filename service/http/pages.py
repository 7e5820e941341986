"""What people open in a browser: /, /docs, /openapi.json and /problems. Everything comes from this service."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from flask import Flask, Response, abort
from markupsafe import Markup, escape

from service import __version__
from service.http.openapi import openapi_document
from service.http.operations import Operation
from service.http.problem_types import PROBLEM_TYPES, ProblemType

_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
    "X-Content-Type-Options": "nosniff",
}
_ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui-standalone-preset.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
_PAGE = Markup(
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="viewport" content="width=device-width"><link rel="icon" href="/docs/favicon-32x32.png">{head}'
    "</head><body>{body}</body></html>"
)
_STYLE = Markup(
    "<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}}"
    "pre{{background:#f4f4f4;padding:.8rem;overflow:auto}}</style>"
).format()
_DOCS_HEAD = Markup('<link rel="stylesheet" href="/docs/swagger-ui.css">')
_DOCS_BODY = Markup(
    '<div id="docs"></div><script src="/docs/swagger-ui-bundle.js"></script>'
    '<script src="/docs/swagger-ui-standalone-preset.js"></script><script src="/docs/start.js"></script>'
)
_START = (
    "window.ui = SwaggerUIBundle({url: '/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null,"
    " presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset]});\n"
)
_LANDING = Markup(
    "<h1>Stepcast {version}</h1><p>Capacity planning for AI clusters, as a REST service.</p>"
    '<ul><li><a href="/docs">Documentation</a>, from <a href="/openapi.json">OpenAPI 3.1</a></li>'
    '<li><a href="/v1/catalog/systems">Systems</a> and <a href="/v1/catalog/models">models</a> to ask about</li>'
    '<li><a href="/problems">What the service refuses, and why</a></li>'
    '<li><a href="/readyz">Ready?</a> <a href="/metrics">Metrics</a></li></ul>'
    '<p>How long does an all-reduce of 1 GiB take on eight H100?</p><pre>curl "{question}"</pre>'
)
_QUESTION = "/v1/estimates/collective?system=dgx-h100&collective=all_reduce&gpus=8&size_bytes=1GiB&format=text"


def register(app: Flask, operations: Sequence[Operation]) -> None:
    """Give the application its pages."""

    @cache
    def document() -> bytes:
        return json.dumps(openapi_document(operations), ensure_ascii=False).encode()

    routes: dict[str, Callable[..., Response]] = {
        "/": _landing,
        "/openapi.json": lambda: Response(document(), content_type="application/json"),
        "/docs": lambda: _html("Stepcast API", _DOCS_BODY, _DOCS_HEAD),
        "/docs/start.js": lambda: Response(_START, content_type="text/javascript"),
        "/docs/<asset>": _asset,
        "/problems": _all_problems,
        "/problems/<code>": _problem,
    }
    for rule, view in routes.items():
        app.add_url_rule(rule, endpoint=f"page {rule}", view_func=view, methods=["GET"])


def _landing() -> Response:
    return _html("Stepcast", _LANDING.format(version=__version__, question=f"http://localhost:8000{_QUESTION}"))


def _asset(asset: str) -> Response:
    if asset not in _ASSETS:
        abort(404)
    content = files("flask_swagger_ui").joinpath("dist", asset).read_bytes()
    return Response(content, content_type=_ASSETS[asset], headers={"Cache-Control": "max-age=86400"})


def _all_problems() -> Response:
    return _html("Problems", Markup("<h1>Problems</h1>") + Markup("").join(map(_explained, PROBLEM_TYPES.values())))


def _problem(code: str) -> Response:
    if code not in PROBLEM_TYPES:
        abort(404)
    return _html(code, _explained(PROBLEM_TYPES[code]))


def _explained(row: ProblemType) -> Markup:
    return Markup('<h2 id="{code}">{title}</h2><p><code>{code}</code>, status {status}</p><p>{meaning}</p>').format(
        **row._asdict()
    )


def _html(title: str, body: Markup, head: Markup = _STYLE) -> Response:
    page = _PAGE.format(title=escape(title), head=head, body=body)
    return Response(page, content_type="text/html; charset=utf-8", headers=_SECURITY)
