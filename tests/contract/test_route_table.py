"""The whole surface, on purpose: a route appears or goes only together with its line here."""

from __future__ import annotations

from service.http.api import OPERATIONS
from tests.fakes import fake_app

ROUTES = """
GET  /                                       open
GET  /docs                                   open
GET  /docs/<asset>                           open
GET  /docs/start.js                          open
GET  /healthz                                open
GET  /metrics                                open
GET  /openapi.json                           open
GET  /problems                               open
GET  /problems/<code>                        open
GET  /readyz                                 open
GET  /v1/catalog/<kind>                      read
GET  /v1/catalog/<kind>/<path:entry_id>      read
GET  /v1/estimates/collective                read
GET  /v1/estimates/inference                 read
GET  /v1/scenarios                           read
GET  /v1/scenarios/<scenario_id>             read
GET  /v1/scenarios/<scenario_id>/evaluations read
PATCH /v1/scenarios/<scenario_id>            write
POST /v1/catalog/<kind>                      write
POST /v1/estimates/collective                read
POST /v1/estimates/inference                 read
POST /v1/scenarios                           write
"""


def test_the_route_table() -> None:
    scopes = {(operation.method, operation.path): operation.scope for operation in OPERATIONS}
    found = [
        (method, rule.rule, scopes.get((method, rule.rule)) or "open")
        for rule in fake_app().url_map.iter_rules()
        for method in rule.methods or ()
        if method not in ("HEAD", "OPTIONS")
    ]
    assert sorted(found) == sorted(tuple(line.split()) for line in ROUTES.strip().splitlines())
