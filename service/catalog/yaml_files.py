"""Shipped YAML files, in the data sheet's language, read as SI documents. A defect names the file, the key and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml
from marshmallow import Schema, fields

from service.catalog.documents import EntryKind, finished, nearest, schema_of
from service.catalog.entries import entry_problems
from service.catalog.quantities import InvalidQuantity, parse_quantity
from service.catalog.schemas.fields import Quantity, QuantityMap, Reference
from service.errors import CatalogDefect

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_Loader):  # type: ignore[misc]
    """Safe YAML without two of its surprises: a repeated key is an error, a date stays text."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, Any]]]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is there twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)  # type: ignore[no-any-return]


def read_entry_file(kind: EntryKind, path: Path, root: Path) -> tuple[dict[str, Any] | None, list[CatalogDefect]]:
    """Read one file as an SI document, or say all that is wrong with it."""
    where = str(path.relative_to(root))
    try:
        text = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as why:
        return None, [CatalogDefect(where, "", f"not readable as YAML: {why}")]
    if not isinstance(text, dict):
        return None, [CatalogDefect(where, "", "must be a mapping of keys to values")]
    defects: list[CatalogDefect] = []
    document = _to_si(schema_of(kind), text, "", where, defects)
    if not defects:
        defects += [
            CatalogDefect(where, problem.pointer, problem.message) for problem in entry_problems(kind, document)
        ]
    if not defects and document.get("id") != path.stem:
        defects.append(CatalogDefect(where, "id", f"must be the file's name, {path.stem!r}"))
    if defects:
        return None, defects
    return finished(schema_of(kind).load(document)), []


def _to_si(
    schema: Schema, text: Mapping[Any, Any], path: str, where: str, defects: list[CatalogDefect]
) -> dict[str, Any]:
    """Translate one mapping: rename quantities to their SI names and convert their values."""
    names = dict(_yaml_names(schema))
    document: dict[str, Any] = {}
    for key, value in text.items():
        here = f"{path}/{key}" if path else str(key)
        name = names.get(key)
        if name is None:
            defects.append(_unknown_key(schema, names, key, here, where))
            continue
        field = schema.fields[name]
        if key == "alternatives" and isinstance(value, list):
            document[name] = [_alternative(schema, item, f"{here}/{n}", where, defects) for n, item in enumerate(value)]
        elif key == "figure_sources" and isinstance(value, dict):
            document[name] = {_pointer(schema, key, here, where, defects): source for key, source in value.items()}
        else:
            document[name] = _value_to_si(field, value, here, where, defects)
    return document


def _value_to_si(field: Any, value: Any, here: str, where: str, defects: list[CatalogDefect]) -> Any:
    if isinstance(field, Quantity):
        return _quantity(value, field.dimension, here, where, defects)
    if isinstance(field, QuantityMap) and isinstance(value, dict):
        return {key: _quantity(one, field.dimension, f"{here}/{key}", where, defects) for key, one in value.items()}
    if isinstance(field, fields.Nested) and isinstance(value, dict):
        return _to_si(field.schema, value, here, where, defects)
    if isinstance(field, fields.List) and isinstance(value, list):
        return [_value_to_si(field.inner, item, f"{here}/{n}", where, defects) for n, item in enumerate(value)]
    if isinstance(field, Reference) and not isinstance(value, str):
        defects.append(CatalogDefect(where, here, "a shipped file refers to another by its id"))
    return value


def _quantity(value: Any, dimension: str, here: str, where: str, defects: list[CatalogDefect]) -> float | None:
    try:
        return parse_quantity(value, dimension)
    except InvalidQuantity as why:
        defects.append(CatalogDefect(where, here, str(why)))
        return None


def _alternative(schema: Schema, item: Any, here: str, where: str, defects: list[CatalogDefect]) -> Any:
    if not isinstance(item, dict):
        return item
    pointer = _pointer(schema, item.get("figure"), f"{here}/figure", where, defects)
    translated = {**item, "figure": pointer}
    dimension = _dimension_of(schema, item.get("figure"))
    if dimension is not None:
        translated["value"] = _quantity(item.get("value"), dimension, f"{here}/value", where, defects)
        translated["unit"] = dimension
    return translated


def _pointer(schema: Schema, figure: Any, here: str, where: str, defects: list[CatalogDefect]) -> str:
    """Turn a path of YAML keys, ``scale_up/links``, into the JSON pointer of the same figure."""
    steps = []
    at: Schema | None = schema
    for step in str(figure).split("/"):
        name = dict(_yaml_names(at)).get(step) if at is not None else step
        if name is None:
            defects.append(CatalogDefect(where, here, f"{figure!r} is no key of this entry"))
            return ""
        steps.append(name)
        at = getattr(at.fields[name], "schema", None) if at is not None else None
    return "/" + "/".join(steps)


def _dimension_of(schema: Schema, figure: Any) -> str | None:
    at: Any = schema
    for step in str(figure).split("/"):
        field = at.fields.get(dict(_yaml_names(at)).get(step, "")) if isinstance(at, Schema) else None
        if isinstance(field, Quantity | QuantityMap):
            return field.dimension
        at = getattr(field, "schema", None)
    return None


def _yaml_names(schema: Schema) -> Iterator[tuple[str, str]]:
    for name, field in schema.fields.items():
        suffix = f"_{field.dimension}" if isinstance(field, Quantity | QuantityMap) else ""
        yield name.removesuffix(suffix), name


def _unknown_key(schema: Schema, names: Mapping[str, str], key: Any, here: str, where: str) -> CatalogDefect:
    if key in schema.fields:
        stem = next(stem for stem, name in names.items() if name == key)
        return CatalogDefect(where, here, f"files speak the data sheet's units: write {stem!r}, the unit in the value")
    close = nearest(str(key), list(names))
    return CatalogDefect(where, here, "unknown key" + (f"; did you mean {close!r}?" if close else ""))
