"""What every entry has, whatever its kind: a name, its aliases, its notes, and where each figure comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields

from service.catalog.schemas.fields import OneOf, Refusal, Text, TextList, refuse

EVIDENCE = ("read", "mixed", "recall", "measured", "derived", "assumed", "given")
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,98}")


class EntryId(Text):
    """Lower-case letters, digits, dot, dash, underscore: it is a file's name and a path's segment."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **options: Any) -> str:
        text = super()._deserialize(value, attr, data, **options)
        if not _ID.fullmatch(text):
            nearest = re.sub(r"[^a-z0-9._-]+", "-", text.lower()[:99]).strip("-._")
            raise refuse("must be lower-case letters, digits, '.', '-' and '_', at most 99", suggestion=nearest or None)
        return text


class StrictSchema(Schema):
    """Refuses what it does not know."""

    class Meta:
        unknown = RAISE


class SourceSchema(StrictSchema):
    """Where figures come from: the page to cite, what was truly read, and how far to trust it."""

    url = Text(required=True)
    where = Text(max_length=200)
    evidence = OneOf(EVIDENCE, required=True)
    read_from = TextList()
    dated = Text(max_length=40)


class FigureSourceSchema(StrictSchema):
    """The source of one figure, where it is not the entry's first."""

    url = Text()
    evidence = OneOf(EVIDENCE)
    note = Text()


class FigureSources(fields.Field[dict[str, Any]]):
    """JSON pointer of a figure -> its source."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise refuse("must be an object of sources by JSON pointer")
        problems: dict[str, Any] = {}
        taken: dict[str, Any] = {}
        for pointer, source in value.items():
            try:
                if not isinstance(source, Mapping):
                    raise refuse("must be an object with url, evidence or note")
                taken[str(pointer)] = FigureSourceSchema().load(dict(source))
            except ValidationError as why:
                problems[str(pointer)] = why.messages
        if problems:
            raise ValidationError(problems)
        return taken


class AlternativeValue(fields.Field[Any]):
    """A figure that another source prints: a number (SI when it has a unit)."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValidationError([Refusal("must be a number or a line of text")])
        return value


class AlternativeSchema(StrictSchema):
    """A conflicting figure, kept beside the one that is used."""

    figure = Text(required=True)
    value = AlternativeValue(required=True)
    unit = Text(max_length=40)
    according_to = Text(required=True)


class EntrySchema(StrictSchema):
    """The keys that all kinds share."""

    id = EntryId()
    name = Text(max_length=200)
    aliases = TextList(max_items=50, max_length=200)
    notes = TextList()
    alternatives = fields.List(fields.Nested(AlternativeSchema))
    sources = fields.List(fields.Nested(SourceSchema))
    figure_sources = FigureSources()
    derived = fields.Raw(
        load_only=True
    )  # the catalogue's own arithmetic: taken back with a fetched document, and dropped
