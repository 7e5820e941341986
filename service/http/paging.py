"""Lists: `limit`, `cursor`, and the schema that reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flask import request
from marshmallow import Schema, ValidationError, fields

from service.http.fields import Count, Text
from service.http.formats import chosen_format
from service.http.query import other_parameters, read_query
from service.http.refusals import invalid_request
from service.http.strict_schema import StrictSchema

LARGEST_PAGE: Final = 200
DEFAULT_PAGE: Final = 50


class PageQuery(StrictSchema):
    """What every list takes."""

    limit = Count(
        low=1, high=LARGEST_PAGE, load_default=DEFAULT_PAGE, metadata={"description": "Most items that a page holds."}
    )
    cursor = Text(longest=500, metadata={"description": "`next_cursor` of the page before."})


def read_list_query(schema: StrictSchema) -> dict[str, Any]:
    """Return the query of a list, defaults filled in, or raise Refused with everything wrong with it."""
    chosen_format(request, ("json",))
    document, problems = read_query(request.args, schema)
    try:
        values: dict[str, Any] = schema.load(document)
    except ValidationError as error:
        raise invalid_request(schema.problems(error, document, problems)) from None
    if problems:
        raise invalid_request(problems)
    return values


def take_no_query() -> None:
    """Refuse query parameters, and forms other than JSON, where there is nothing to choose."""
    chosen_format(request, ("json",))
    problems = other_parameters(request.args)
    if problems:
        raise invalid_request(problems)


def page_schema(item: Schema, name: str) -> Schema:
    """Return the schema of a page of items."""
    return Schema.from_dict(
        {
            "items": fields.List(fields.Nested(item), required=True),
            "next_cursor": fields.String(required=True, allow_none=True),
        },
        name=name,
    )()


def page_document(items: Iterable[Any], next_cursor: str | None) -> dict[str, Any]:
    """Return a page as JSON."""
    return {"items": list(items), "next_cursor": next_cursor}
