"""An entry as a document: checked against its schema, every problem at once, every figure with its source."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import Any

from marshmallow import Schema, ValidationError

from service.catalog.schemas.accelerators import AcceleratorSchema
from service.catalog.schemas.entry import EntrySchema
from service.catalog.schemas.fields import Refusal
from service.catalog.schemas.models import ModelSchema
from service.catalog.schemas.networks import NetworkSchema
from service.catalog.schemas.systems import SystemSchema
from service.errors import FieldProblem, InvalidCatalogEntry


class EntryKind(StrEnum):
    """The four shelves of the catalogue; each is a path segment and a folder."""

    ACCELERATORS = "accelerators"
    NETWORKS = "networks"
    SYSTEMS = "systems"
    MODELS = "models"


SCHEMAS: dict[EntryKind, type[EntrySchema]] = {
    EntryKind.ACCELERATORS: AcceleratorSchema,
    EntryKind.NETWORKS: NetworkSchema,
    EntryKind.SYSTEMS: SystemSchema,
    EntryKind.MODELS: ModelSchema,
}

# Facts about facts, not figures that need a source of their own.
_NOT_FIGURES = frozenset({"sources", "figure_sources", "alternatives", "derived", "release_year", "year"})
_LAST = ("alternatives", "notes", "sources", "figure_sources")  # facts first, then what is said of them
_MAX_SHOWN = 200
_MOST_PROBLEMS = 100
_MAX_INTEGER_BITS = 256


@cache
def schema_of(kind: EntryKind) -> Schema:
    """Return the one schema of a kind; building it costs more than using it."""
    return SCHEMAS[kind]()


def load_document(kind: EntryKind, document: object, pointer: str = "") -> dict[str, Any]:
    """Check a JSON document against its schema and return it normalised, every figure with its source.

    Parameters
    ----------
    document : object
        What was sent: the shape that the catalogue gives out. Ids are optional.
    pointer : str
        Where the document stands in the request.

    Raises
    ------
    InvalidCatalogEntry
        With every problem found.
    """
    problems = schema_problems(kind, document, pointer)
    if problems:
        raise invalid_entry(kind, problems)
    loaded = schema_of(kind).load(dict(document))  # type: ignore[call-overload]  # a Mapping, or there were problems
    return finished(loaded)


def schema_problems(kind: EntryKind, document: object, pointer: str = "") -> list[FieldProblem]:
    """Return all that the schema refuses, each with its pointer, value and what would be taken."""
    if not isinstance(document, Mapping):
        return [FieldProblem(pointer, f"must be an object describing one of the {kind}", shown(document))]
    try:
        schema_of(kind).load(dict(document))
    except ValidationError as why:
        return list(islice(_flatten(why.messages, document, pointer, schema_of(kind)), _MOST_PROBLEMS))
    return []


def invalid_entry(kind: EntryKind, problems: Sequence[FieldProblem]) -> InvalidCatalogEntry:
    """Return the refusal that carries the problems."""
    listed = "; ".join(f"{problem.pointer or '/'}: {problem.message}" for problem in problems[:5])
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    return InvalidCatalogEntry(f"Not a valid entry of {kind}: {listed}{more}", problems)


def finished(loaded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without what is derived, and with a source for each of its figures."""
    document = {key: value for key, value in loaded.items() if key != "derived"}
    sources = document.setdefault("sources", [])
    default = {key: sources[0][key] for key in ("url", "evidence")} if sources else {"evidence": "given"}
    stated = document.get("figure_sources", {})
    document["figure_sources"] = {
        **{pointer: {**default, **source} for pointer, source in stated.items()},
        **{pointer: {**default, **own, **stated.get(pointer, {})} for pointer, own in _figures(document)},
    }
    last = {key: document.pop(key) for key in _LAST if key in document}
    return {**document, **last}


def shown(value: object) -> object:
    """Return a value that is small enough, and JSON enough, to repeat in an error."""
    if isinstance(value, str):
        return value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"
    if isinstance(value, Mapping):
        return f"an object of {len(value)} keys"
    if isinstance(value, Sequence):
        return f"a list of {len(value)} items"
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return "an integer of very many digits"
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def nearest(word: str, words: Sequence[str]) -> str | None:
    """Return the word most like the one given, if any is near. Long input is cut: the work stays bounded."""
    folded = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word[:100].lower(), folded, n=1, cutoff=0.5)
    return folded[close[0]] if close else None


def _figures(document: Mapping[str, Any], pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the pointer of each number, with the source that the object around it states itself (prices do)."""
    own = {"url": document["source"]} if isinstance(document.get("source"), str) else {}
    for key, value in document.items():
        here = f"{pointer}/{key}"
        if key in _NOT_FIGURES or isinstance(value, bool | str):
            continue
        if isinstance(value, int | float):
            yield here, own
        elif isinstance(value, Mapping):
            yield from _figures(value, here)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Mapping):
                    yield from _figures(item, f"{here}/{index}")


def _flatten(messages: Any, document: Any, pointer: str, schema: Schema | None) -> Iterator[FieldProblem]:
    """Turn marshmallow's nested messages into problems with pointers."""
    if not isinstance(messages, Mapping):
        for message in messages if isinstance(messages, list) else [messages]:
            if isinstance(message, Refusal):
                yield FieldProblem(pointer, message.message, shown(document), message.allowed, message.suggestion)
            else:
                yield FieldProblem(pointer, str(message), shown(document))
        return
    for key, inner in messages.items():
        value = _step(document, key)
        if key == "_schema":
            yield from _flatten(inner, document, pointer, schema)
        elif inner == ["Unknown field."] and schema is not None:
            known = sorted(schema.fields)
            yield FieldProblem(
                f"{pointer}/{_escaped(key)}", "unknown key", shown(value), known, nearest(str(key), known)
            )
        elif inner == ["Missing data for required field."]:
            yield FieldProblem(f"{pointer}/{_escaped(key)}", "is required")
        else:
            yield from _flatten(inner, value, f"{pointer}/{_escaped(key)}", _schema_under(schema, key))


def _step(document: Any, key: Any) -> Any:
    if isinstance(document, Mapping):
        return document.get(key)
    if (
        isinstance(document, Sequence)
        and not isinstance(document, str)
        and isinstance(key, int)
        and key < len(document)
    ):
        return document[key]
    return None


def _schema_under(schema: Schema | None, key: Any) -> Schema | None:
    if schema is None or isinstance(key, int):
        return schema
    field = schema.fields.get(str(key))
    inline = getattr(field, "inline", None)
    if inline is not None:
        return inline()  # type: ignore[no-any-return]
    inner = getattr(field, "inner", field)
    nested = getattr(inner, "schema", None)
    return nested if isinstance(nested, Schema) else None


def _escaped(key: object) -> str:
    return str(key)[:100].replace("~", "~0").replace("/", "~1")
