"""GET and POST /v1/catalog/{kind}: shipped and custom entries, every figure with its source."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response, request
from marshmallow import Schema, fields

from service.catalog.catalog import CatalogEntry, validate_new_entry
from service.catalog.documents import EntryKind
from service.errors import FieldProblem
from service.http.estimates import json_response
from service.http.fields import Choice, Text, nearest
from service.http.json_body import read_json_object
from service.http.operations import Answer, Operation, services
from service.http.paging import PageQuery, page_document, page_schema, read_list_query, take_no_query
from service.http.refusals import Refused, invalid_request


class CatalogQuery(PageQuery):
    """Which entries to list."""

    q = Text(longest=200, metadata={"description": "Text that the id, the name or an alias holds, ignoring case."})
    origin = Choice(("shipped", "custom"), metadata={"description": "Shipped with the service, or added here."})


class EntrySummarySchema(Schema):
    """An entry as lists show it."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    aliases = fields.List(fields.String(), required=True)
    origin = fields.String(required=True, metadata={"enum": ["shipped", "custom"]})
    revision = fields.Integer(required=True)
    href = fields.String(required=True, metadata={"description": "Path of the whole entry."})


class EntrySchema(Schema):
    """An entry: figures in SI, the unit in each name, and where each comes from. Can be sent inline in a question."""

    class Meta:
        unknown = "include"

    id = fields.String(required=True)
    name = fields.String()
    aliases = fields.List(fields.String())
    sources = fields.List(fields.Dict(keys=fields.String()))
    figure_sources = fields.Dict(
        keys=fields.String(), metadata={"description": "Source by JSON pointer to the figure."}
    )
    derived = fields.Dict(
        keys=fields.String(), metadata={"description": "What the service adds; ignored when it is sent back."}
    )


_QUERY = CatalogQuery()


def list_page(kind: str) -> Response:
    """Return a page of a shelf, by id."""
    shelf = _shelf(kind)
    asked = read_list_query(_QUERY)
    after = _after(asked.get("cursor"))
    wanted = (asked.get("q") or "").lower()
    found = [
        entry
        for entry in services().catalog.current().entries(shelf)
        if entry.id > after
        and (not asked.get("origin") or entry.origin == asked["origin"])
        and (not wanted or any(wanted in name.lower() for name in (entry.id, entry.name, *entry.aliases)))
    ]
    page = found[: asked["limit"]]
    more = len(found) > len(page)
    return json_response(page_document(map(_summary, page), _cursor(page) if more else None))


def get(kind: str, entry_id: str) -> Response:
    """Return one, by id or alias; 304 when If-None-Match has its ETag."""
    shelf = _shelf(kind)
    take_no_query()
    return _whole(services().catalog.current().entry(shelf, entry_id))


def create(kind: str) -> Response:
    """Add a custom entry; estimates use it at once, in every worker and replica."""
    shelf = _shelf(kind)
    take_no_query()
    document = validate_new_entry(shelf, read_json_object(request), services().catalog.current())
    kept = services().catalog_entries.add(shelf.value, document)
    entry = services().catalog.current().entry(shelf, kept.document["id"])
    return _whole(entry, 201, {"Location": _path(entry)})


def _shelf(kind: str) -> EntryKind:
    known = [shelf.value for shelf in EntryKind]
    if kind not in known:
        problem = FieldProblem("/kind", "is no part of the catalogue", kind, known, nearest(kind, known))
        raise Refused("not-found", f"the catalogue has {', '.join(known)}", [problem])
    return EntryKind(kind)


def _whole(entry: CatalogEntry, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    derived = {**entry.document.get("derived", {}), "origin": entry.origin, "revision": entry.revision}
    document = {**entry.document, "derived": derived}
    tag = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
    headers = {"ETag": f'"{tag}"', **(headers or {})}
    if request.if_none_match.contains_weak(tag):
        return Response(status=304, headers=headers)
    return json_response(document, status, headers)


def _summary(entry: CatalogEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name,
        "aliases": list(entry.aliases),
        "origin": entry.origin,
        "revision": entry.revision,
        "href": _path(entry),
    }


def _path(entry: CatalogEntry) -> str:
    return f"/v1/catalog/{entry.kind.value}/{entry.id}"


def _cursor(page: Sequence[CatalogEntry]) -> str:
    return base64.urlsafe_b64encode(page[-1].id.encode()).decode().rstrip("=")


def _after(cursor: str | None) -> str:
    if cursor is None:
        return ""
    try:
        return base64.b64decode(
            cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        ).decode()
    except ValueError:
        problem = FieldProblem("/cursor", "is none that this list gave", cursor, "`next_cursor` of the page before")
        raise invalid_request([problem]) from None


_ENTRY = EntrySchema()
_KIND = {
    "name": "kind",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "enum": [shelf.value for shelf in EntryKind]},
}
_ID = {
    "name": "entry_id",
    "in": "path",
    "required": True,
    "description": "An id or an alias, ignoring case.",
    "schema": {"type": "string", "minLength": 1},
}
_ETAG = {"ETag": "Of the entry as it is."}
_CUSTOM = {
    "id": "my-h100-pod",
    "name": "Our H100 pod",
    "accelerator": "h100-sxm5-80gb",
    "gpus": 8,
    "gpus_per_node": 8,
    "notes": ["Start from what GET /v1/catalog/systems/dgx-h100 gives, and change the id."],
}

OPERATIONS = (
    Operation(
        "GET", "/v1/catalog/<kind>", "list_catalog_entries", "Catalogue", "List entries by id", list_page,
        {200: Answer("A page.", page_schema(EntrySummarySchema(), "CatalogPage"))}, "read", query=_QUERY,
        parameters=(_KIND,), problems=(404, 406, 422),
    ),
    Operation(
        "POST", "/v1/catalog/<kind>", "create_catalog_entry", "Catalogue", "Add a custom entry", create,
        {201: Answer("Kept; estimates use it at once.", _ENTRY, headers=_ETAG | {"Location": "Path of the entry."})},
        "write", "The body has the shape that GET gives out: take an entry, change its id and its figures.",
        body={"type": "object"}, body_examples={"a system": _CUSTOM}, parameters=(_KIND,),
        problems=(400, 404, 406, 409, 413, 415, 422, 507),
    ),
    Operation(
        "GET", "/v1/catalog/<kind>/<path:entry_id>", "get_catalog_entry", "Catalogue", "One entry", get,
        {200: Answer("The entry.", _ENTRY, headers=_ETAG), 304: Answer("It is what If-None-Match says.")}, "read",
        parameters=(_KIND, _ID), problems=(404, 406, 422),
    ),
)  # fmt: skip
