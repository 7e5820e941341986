"""POST and GET /v1/scenarios: questions that are kept with their answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from flask import Response, request
from marshmallow import Schema, ValidationError, fields

from service.catalog.catalog import Catalog
from service.errors import FieldProblem, ScenarioNotFound, UnknownCatalogEntry
from service.http.estimates import EstimateKind, EstimateSchema, json_response
from service.http.fields import Choice, Switch, Text
from service.http.json_body import read_json_object
from service.http.operations import Answer, Operation, services
from service.http.paging import PageQuery, page_document, page_schema, read_list_query, take_no_query
from service.http.refusals import Refused, inside, invalid_request
from service.http.strict_schema import StrictSchema
from service.http.v1.estimate_kinds import KINDS
from service.http.v1.scenario_fields import InputsField, TagsField
from service.planning.scenarios import Evaluation, NewScenario, Scenario, ScenarioChanges, ScenarioFilter

_ID: Final = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)
_REVISION: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_IDEMPOTENCY_KEY: Final = re.compile(r"[!-~]{1,200}", re.ASCII)


class NewScenarioSchema(StrictSchema):
    """A question to keep."""

    name = Text(longest=200, required=True, metadata={"description": "For people; need not be unique."})
    kind = Choice(tuple(KINDS), required=True, metadata={"description": "Last path segment of an estimate."})
    inputs = InputsField(required=True, metadata={"description": "The body that the estimate endpoint takes."})
    tags = TagsField(metadata={"description": "To find it again."})
    tracked = Switch(load_default=False, metadata={"description": "Whether /metrics shows its headline."})
    notes = Text(shortest=0, longest=10_000, metadata={"description": "Anything."})


class ScenarioChangesSchema(StrictSchema):
    """What to change of a kept scenario; what is left out stays."""

    tags = TagsField(metadata={"description": "Instead of those it has."})
    tracked = Switch(metadata={"description": "Whether /metrics shows its headline."})
    notes = Text(shortest=0, longest=10_000, metadata={"description": "Instead of those it has."})


class EvaluationSchema(EstimateSchema):
    """An estimate that was kept; never rewritten."""

    id = fields.String(required=True)
    created_at = fields.DateTime(required=True)
    result = fields.Dict(keys=fields.String(), required=True, metadata={"description": "As the estimate endpoint's."})
    ideal = fields.Dict(keys=fields.String(), required=True, metadata={"description": "As the estimate endpoint's."})


class ScenarioSchema(Schema):
    """A kept question with its newest answer."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    kind = fields.String(required=True)
    inputs = fields.Dict(keys=fields.String(), required=True, metadata={"description": "As they were sent."})
    tags = fields.List(fields.String(), required=True)
    tracked = fields.Boolean(required=True)
    notes = fields.String(required=True)
    revision = fields.Integer(required=True, metadata={"description": "Moves with every change; the ETag."})
    created_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)
    evaluation = fields.Nested(EvaluationSchema, required=True)


class ScenarioQuery(PageQuery):
    """Which scenarios to list."""

    kind = Choice(tuple(KINDS), metadata={"description": "Of this kind."})
    tag = Text(longest=100, metadata={"description": "With this tag."})
    model = Text(longest=200, metadata={"description": "About this model; aliases resolve."})
    system = Text(longest=200, metadata={"description": "About this system; aliases resolve."})
    name = Text(longest=200, metadata={"description": "With this name."})


_NEW, _CHANGES, _QUERY, _PAGE_QUERY = NewScenarioSchema(), ScenarioChangesSchema(), ScenarioQuery(), PageQuery()


def create() -> Response:
    """Estimate, keep both question and answer, and tell where."""
    take_no_query()
    key = _idempotency_key()
    document = read_json_object(request)
    catalog = services().catalog.current()
    scenario, kind, question = _read(document, catalog)
    with inside("/inputs"):
        estimate = kind.document(kind.estimate(question, catalog))
    kept, is_new = services().scenarios.add(scenario, estimate, key)
    headers = {"Location": f"/v1/scenarios/{kept.id}", "ETag": _etag(kept)}
    return json_response(scenario_document(kept), 201, headers if is_new else headers | {"Idempotent-Replayed": "true"})


def get(scenario_id: str) -> Response:
    """Return one; 304 when If-None-Match has its ETag."""
    take_no_query()
    kept = services().scenarios.get(_known_form(scenario_id))
    if request.if_none_match.contains_weak(str(kept.revision)):
        return Response(status=304, headers={"ETag": _etag(kept)})
    return json_response(scenario_document(kept), headers={"ETag": _etag(kept)})


def change(scenario_id: str) -> Response:
    """Change tags, tracked or notes of one that is as If-Match says."""
    take_no_query()
    revisions = _revisions_to_change()
    document = read_json_object(request)
    try:
        given = {name: value for name, value in _CHANGES.load(document).items() if value is not None}
    except ValidationError as error:
        raise invalid_request(_CHANGES.problems(error, document)) from None
    if not given:
        raise invalid_request([FieldProblem("", "changes nothing", document, list(_CHANGES.fields))])
    if "tags" in given:
        given["tags"] = tuple(given["tags"])
    kept = services().scenarios.change(_known_form(scenario_id), ScenarioChanges(**given), revisions)
    return json_response(scenario_document(kept), headers={"ETag": _etag(kept)})


def list_page() -> Response:
    """Return a page, newest first."""
    asked = read_list_query(_QUERY)
    catalog = services().catalog.current()
    where = ScenarioFilter(
        kind=asked.get("kind"),
        tag=asked.get("tag"),
        model=_resolved(catalog, "models", asked.get("model")),
        system=_resolved(catalog, "systems", asked.get("system")),
        name=asked.get("name"),
    )
    page = services().scenarios.list(where, limit=asked["limit"], cursor=asked.get("cursor"))
    return json_response(page_document(map(scenario_document, page.items), page.next_cursor))


def history(scenario_id: str) -> Response:
    """Return a page of a scenario's answers, newest first."""
    asked = read_list_query(_PAGE_QUERY)
    page = services().scenarios.evaluations(_known_form(scenario_id), limit=asked["limit"], cursor=asked.get("cursor"))
    return json_response(page_document(map(evaluation_document, page.items), page.next_cursor))


def scenario_document(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as `ScenarioSchema` publishes it."""
    return {
        "id": scenario.id,
        "name": scenario.name,
        "kind": scenario.kind,
        "inputs": scenario.inputs,
        "tags": list(scenario.tags),
        "tracked": scenario.tracked,
        "notes": scenario.notes,
        "revision": scenario.revision,
        "created_at": _moment(scenario.created_at),
        "updated_at": _moment(scenario.updated_at),
        "evaluation": evaluation_document(scenario.evaluation),
    }


def evaluation_document(evaluation: Evaluation) -> dict[str, Any]:
    """Return a kept estimate with its own id and time."""
    return {"id": evaluation.id, "created_at": _moment(evaluation.created_at), **evaluation.estimate}


def _read(document: Mapping[str, Any], catalog: Catalog) -> tuple[NewScenario, EstimateKind, Any]:
    """Return the scenario, its kind and its question, or raise Refused with everything wrong, inputs included."""
    problems: list[FieldProblem] = []
    try:
        given = _NEW.load(document)
    except ValidationError as error:
        problems += _NEW.problems(error, document)
        given = error.valid_data if isinstance(error.valid_data, dict) else {}
    kind, question = KINDS.get(given.get("kind", "")), None
    if kind is not None and "inputs" in given:
        try:
            with inside("/inputs"):
                question = kind.read(given["inputs"], catalog)
        except Refused as refusal:
            problems += refusal.problems
    if problems or kind is None:
        raise invalid_request(problems)
    scenario = NewScenario(
        name=given["name"],
        kind=kind.kind,
        inputs=given["inputs"],
        tags=tuple(given.get("tags") or ()),
        tracked=bool(given.get("tracked")),
        notes=given.get("notes") or "",
    )
    return scenario, kind, question


def _idempotency_key() -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _IDEMPOTENCY_KEY.fullmatch(key):
        why = "the header Idempotency-Key must be 1 to 200 visible ASCII characters"
        raise Refused("bad-request", why, [FieldProblem("", why, key)])
    return key


def _revisions_to_change() -> frozenset[int] | None:
    """Return the revisions that If-Match has, or None for any. A tag that none of ours can be matches nothing."""
    if "If-Match" not in request.headers:
        raise Refused("if-match-needed", "the header If-Match must say which revision is changed: send the ETag")
    if request.if_match.star_tag:
        return None
    tags = (tag or "" for tag in request.if_match.as_set())  # Werkzeug has None for an empty one
    return frozenset(int(tag) for tag in tags if _REVISION.fullmatch(tag))


def _known_form(scenario_id: str) -> str:
    """Return an id that can be one; anything else names no scenario, and some of it no database would take."""
    if not _ID.fullmatch(scenario_id):
        raise ScenarioNotFound(f"no scenario {scenario_id[:100]!r}")
    return scenario_id


def _resolved(catalog: Catalog, kind: str, name: str | None) -> str | None:
    """Return the id that an alias stands for; a name that the catalogue has not (or no more) stays as it is."""
    if name is None:
        return None
    try:
        return catalog.entry(kind, name).id
    except UnknownCatalogEntry:
        return name


def _etag(scenario: Scenario) -> str:
    return f'"{scenario.revision}"'


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


_KEPT = ScenarioSchema()
_EXAMPLE = {
    "name": "gradients of a 70B model on 64 GPUs",
    "kind": "collective",
    "inputs": {"system": "gb200-nvl72", "collective": "all_reduce", "gpus": 64, "model": "llama3-70b"},
    "tags": ["training"],
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes retries safe: the same key with the same body gives the scenario that was kept first.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "description": "The ETag that came with what is changed, or `*`.",
    "schema": {"type": "string", "minLength": 1},
}
_HEADERS = {"Location": "Path of the scenario.", "ETag": "Its revision."}

OPERATIONS = (
    Operation(
        "POST", "/v1/scenarios", "create_scenario", "Scenarios", "Keep a question with its answer", create,
        {201: Answer("Kept, durably.", _KEPT, headers=_HEADERS)}, "write", body=_NEW,
        body_examples={"collective": _EXAMPLE}, parameters=(_KEY,), problems=(400, 406, 409, 413, 415, 422, 507),
    ),
    Operation(
        "GET", "/v1/scenarios", "list_scenarios", "Scenarios", "List scenarios, newest first", list_page,
        {200: Answer("A page.", page_schema(_KEPT, "ScenarioPage"))}, "read", query=_QUERY, problems=(406, 422),
    ),
    Operation(
        "GET", "/v1/scenarios/<scenario_id>", "get_scenario", "Scenarios", "One scenario", get,
        {
            200: Answer("The scenario with its newest answer.", _KEPT, headers={"ETag": _HEADERS["ETag"]}),
            304: Answer("It is what If-None-Match says."),
        },
        "read", problems=(404, 406, 422),
    ),
    Operation(
        "PATCH", "/v1/scenarios/<scenario_id>", "change_scenario", "Scenarios", "Change tags, tracked or notes", change,
        {200: Answer("As it is now.", _KEPT, headers={"ETag": _HEADERS["ETag"]})}, "write", body=_CHANGES,
        body_examples={"untrack": {"tracked": False}}, parameters=(_IF_MATCH,),
        problems=(400, 404, 406, 412, 413, 415, 422, 428, 507),
    ),
    Operation(
        "GET", "/v1/scenarios/<scenario_id>/evaluations", "list_evaluations", "Scenarios",
        "A scenario's answers, newest first", history,
        {200: Answer("A page.", page_schema(EvaluationSchema(), "EvaluationPage"))}, "read", query=_PAGE_QUERY,
        problems=(404, 406, 422),
    ),
)  # fmt: skip
