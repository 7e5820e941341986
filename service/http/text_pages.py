"""An estimate as a page to read: what was asked, the working line by line, the answer, and how far to trust it.

Knows the shape that all estimates share, and units by their suffix; nothing of any kind of estimate, and no physics.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from service.catalog.quantities import format_quantity
from service.planning.estimates import DerivationLine, Estimate
from service.planning.tracked import HEADLINES

WIDTH: Final = 100
_INDENT: Final = "  "
_LONGEST_CELL: Final = 60

# Suffix of a field's name, longest first -> dimension and SI symbol.
_UNIT_OF_SUFFIX: Final = {
    "_bytes_per_second": ("bytes_per_second", "B/s"),
    "_flops_per_second": ("flops_per_second", "FLOP/s"),
    "_tokens_per_second": ("", "tokens/s"),
    "_bytes": ("bytes", "B"),
    "_seconds": ("seconds", "s"),
    "_watts": ("watts", "W"),
    "_usd": ("", "USD"),
}
_DIMENSION_OF_UNIT: Final = {unit: dimension for dimension, unit in _UNIT_OF_SUFFIX.values() if dimension}
_SCOPES: Final = ("_per_gpu", "_per_node", "_per_token", "_on_wire")

_SAID_OF_IDEAL: Final = {
    "collective": "At what the links give in one direction; headline_… at the vendor's figure, which sums both "
    "directions and which no link gives one way.",
    "inference": "The roofline: datasheet bandwidth and dense peaks, and nothing else.",
}


def estimate_page(estimate: Estimate) -> str:
    """Return the page. The headline is the field of the result that the range bounds."""
    headline = HEADLINES[estimate.kind]
    low, high = (_figure(headline, value) for value in (estimate.range.low, estimate.range.high))
    answer = _figure(headline, getattr(estimate.result, headline))
    title = f"Stepcast: {estimate.kind} estimate"
    sections = [
        [
            title,
            "=" * len(title),
            *_wrapped(f"(range {low} to {high}, {estimate.range.basis_kind})", f"{headline} = {answer}   "),
        ],
        _section("Inputs", _inputs(estimate.inputs)),
        _section("Derivation", _derivation(estimate.derivation)),
        _section("Result", _figures(estimate.result)),
        _section("Range", _range(estimate, headline)),
        _section("Ideal: the textbook bound, not a forecast", _ideal(estimate)),
        *(_section(name.capitalize(), _table(rows)) for name, rows in _tables(estimate.result)),
        _section("Warnings", _warnings(estimate)),
        [f"engine {estimate.engine_version}, catalogue {estimate.catalog_revision}"],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return [title, "-" * len(title), *(line.rstrip() for line in body)] if body else []


def _inputs(inputs: Mapping[str, Any]) -> Iterator[str]:
    named = {name: value for name, value in inputs.items() if value is not None}
    width = max((len(name) for name in named), default=0)
    for name, value in named.items():
        shown = _of_mapping(value) if isinstance(value, Mapping) else _with_si(name, value)
        yield from _wrapped(shown, f"{_INDENT}{name:<{width}}  ")


def _of_mapping(value: Mapping[str, Any]) -> str:
    """Return an inline entry by its id, and a part of a question by its figures."""
    entry = {"kind", "id", "architecture", "accelerator"} & set(value)
    if entry or not value:
        return f"{value.get('id', 'inline')} (inline)"
    return ", ".join(f"{name} {_figure(name, figure)}" for name, figure in value.items())


def _derivation(lines: Sequence[DerivationLine]) -> Iterator[str]:
    width = min(max((len(line.symbol) for line in lines), default=0), 20)
    margin = f"{_INDENT}{'':<{width}}   "
    for line in lines:
        yield from _wrapped(f"{line.expression} = {_derived(line)}", f"{_INDENT}{line.symbol:<{width}} = ")
        yield from _wrapped(f"{line.label} [{line.source}]" if line.source else line.label, margin)


def _derived(line: DerivationLine) -> str:
    unit = "" if line.unit == "1" else line.unit
    if isinstance(line.value, str):
        return f"{line.value} {unit}".rstrip()
    plain = f"{_plain(line.value)} {unit}".rstrip()
    dimension = _DIMENSION_OF_UNIT.get(line.unit)
    human = format_quantity(line.value, dimension) if dimension else plain
    return human if human == plain else f"{human}   ({plain})"


def _figures(answer: Any) -> Iterator[str]:
    """Yield a line for every figure of a dataclass: its name, for people, and in SI."""
    rows = list(_named_figures(answer, ""))
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        yield from _wrapped(_with_si(name, value), f"{_INDENT}{name:<{width}}  ")


def _named_figures(answer: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield every figure with its name, those of parts with the part's before theirs."""
    for field in fields(answer):
        value, name = getattr(answer, field.name), prefix + field.name
        if is_dataclass(value):
            yield from _named_figures(value, f"{name}.")
        elif isinstance(value, tuple) and value and all(isinstance(each, str) for each in value):
            yield name, "; ".join(value)
        elif value is not None and not isinstance(value, (tuple, list, dict)):
            yield name, value


def _range(estimate: Estimate, headline: str) -> Iterator[str]:
    bounds = estimate.range
    low, high = (_figure(headline, value) for value in (bounds.low, bounds.high))
    yield from _wrapped(
        f"{low} to {high}; expected to hold {bounds.coverage_ratio * 100:.0f} of 100 measurements. "
        f"Basis ({bounds.basis_kind}): {bounds.basis}",
        _INDENT,
    )


def _ideal(estimate: Estimate) -> Iterator[str]:
    yield from _wrapped(_SAID_OF_IDEAL.get(estimate.kind, ""), _INDENT)
    yield from _figures(estimate.ideal)


def _warnings(estimate: Estimate) -> Iterator[str]:
    for warning in estimate.warnings:
        yield from _wrapped(f"{warning.code}: {warning.message}", f"{_INDENT}! ")


def _tables(result: Any) -> Iterator[tuple[str, Sequence[Any]]]:
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, (tuple, list)) and value and is_dataclass(value[0]):
            yield field.name, value


def _table(rows: Sequence[Any]) -> Iterator[str]:
    names = [field.name for field in fields(rows[0])]
    cells = [names, *([_cell(name, getattr(row, name)) for name in names] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(names))]
    margin = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for row in cells:
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(row[:-1], widths, strict=False))
        yield from _wrapped(row[-1], f"{_INDENT}{start[:margin]}")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _figure(name, value)[:_LONGEST_CELL] if name != "why_not" else str(value)


def _unit(name: str) -> tuple[str, str]:
    """Return the dimension and the SI symbol that a field's name ends in, scopes such as `_per_gpu` aside."""
    for scope in _SCOPES:
        name = name.replace(scope, "")
    return next((unit for suffix, unit in _UNIT_OF_SUFFIX.items() if f"_{name}".endswith(suffix)), ("", ""))


def _figure(name: str, value: Any) -> str:
    """Return a value for people: `4.21 ms`, `480 GB/s`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    dimension, symbol = _unit(name)
    return format_quantity(value, dimension) if dimension else f"{_plain(value)} {symbol}".rstrip()


def _with_si(name: str, value: Any) -> str:
    """Return a value for people and, where that scaled or rounded it, in SI as well."""
    human = _figure(name, value)
    dimension, symbol = _unit(name)
    si = f"{_plain(value)} {symbol}" if dimension and not isinstance(value, (bool, str)) else human
    return human if human == si else f"{human:<12} = {si}"


def _plain(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _wrapped(text: str, start: str) -> Iterator[str]:
    """Yield text in lines of the page's width, the first after `start`, the rest aligned under it."""
    margin = min(len(start), WIDTH // 2)
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=start, subsequent_indent=" " * margin, drop_whitespace=True
    ) or [start]
