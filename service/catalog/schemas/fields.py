"""Fields that know a dimension and a range. A quantity's JSON name ends with its dimension; its YAML name does not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import Schema, ValidationError, fields

from service.catalog.quantities import CEILINGS, SMALLEST, InvalidQuantity, parse_size

MAX_TEXT_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong with one field; becomes a FieldProblem once its pointer and value are known."""

    message: str
    allowed: Any = None
    suggestion: Any = None


def refuse(message: str, allowed: Any = None, suggestion: Any = None) -> ValidationError:
    """Return the error that a field raises."""
    return ValidationError([Refusal(message, allowed, suggestion)])


def finite_number(value: Any, low: float, high: float, *, above: bool = False) -> float:
    """Return the value as a float, or refuse it: no booleans, no NaN, no text, within the bounds."""
    allowed = {"above" if above else "min": low, "max": high}
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse("must be a number in SI units", allowed)
    if isinstance(value, float) and not math.isfinite(value):
        raise refuse("must be a finite number", allowed)
    if not (low < value if above else low <= value) or value > high:
        raise refuse(f"must be {'above' if above else 'at least'} {low:g} and at most {high:g}", allowed)
    return float(value)


class Quantity(fields.Field[float]):
    """A positive SI figure. Its data key ends with the dimension: ``memory_bandwidth_bytes_per_second``."""

    def __init__(self, dimension: str, **options: Any) -> None:
        super().__init__(**options)
        self.dimension = dimension

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> float:
        if self.dimension == "bytes" and isinstance(value, str):
            try:
                return parse_size(value)
            except InvalidQuantity as why:
                raise refuse(why.message, "bytes, or text such as '141GB' or '80GiB'", why.suggestion) from why
        number = finite_number(value, SMALLEST, CEILINGS[self.dimension])
        return int(number) if self.dimension == "bytes" and number.is_integer() else number


class QuantityMap(fields.Field[dict[str, float]]):
    """Figures of one dimension by name, such as peaks by number format; the names are a closed list."""

    def __init__(self, dimension: str, names: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self.dimension = dimension
        self.names = tuple(names)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> dict[str, float]:
        if not isinstance(value, Mapping):
            raise refuse("must be an object of figures by name", list(self.names))
        figure = Quantity(self.dimension)
        taken: dict[str, float] = {}
        problems: dict[str, Any] = {}
        for name, number in value.items():
            if name not in self.names:
                problems[str(name)] = [Refusal("unknown name", list(self.names))]
                continue
            try:
                taken[name] = figure._deserialize(number, None, None)
            except ValidationError as why:
                problems[name] = why.messages
        if problems:
            raise ValidationError(problems)
        return taken


class Count(fields.Field[int]):
    """A whole number within bounds; JSON's ``8.0`` is one."""

    def __init__(self, low: int = 1, high: int = 1_000_000_000, **options: Any) -> None:
        super().__init__(**options)
        self.low, self.high = low, high

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> int:
        number = finite_number(value, self.low, self.high)
        if not number.is_integer():
            raise refuse("must be a whole number", {"min": self.low, "max": self.high}, round(number))
        return int(value)


class Ratio(fields.Field[float]):
    """A number within bounds that has no unit."""

    def __init__(self, low: float, high: float, **options: Any) -> None:
        super().__init__(**options)
        self.low, self.high = low, high

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> float:
        return finite_number(value, self.low, self.high)


class Flag(fields.Field[bool]):
    """True or false, and no synonyms of them."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse("must be true or false", [True, False])
        return value


class Text(fields.Field[str]):
    """A line of text, not empty and not endless."""

    def __init__(self, max_length: int = MAX_TEXT_LENGTH, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = max_length

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> str:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise refuse("must be a line of text")
        if len(value) > self.max_length:
            raise refuse(f"must be at most {self.max_length} characters")
        return value


class OneOf(fields.Field[str]):
    """One word of a closed list."""

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self.words = tuple(words)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            folded = [word for word in self.words if isinstance(value, str) and word == value[:MAX_TEXT_LENGTH].lower()]
            raise refuse(f"must be one of {', '.join(self.words)}", list(self.words), folded[0] if folded else None)
        return value


class TextList(fields.Field[list[str]]):
    """A list of lines."""

    def __init__(self, max_items: int = 50, max_length: int = MAX_TEXT_LENGTH, **options: Any) -> None:
        super().__init__(**options)
        self.max_items = max_items
        self.line = Text(max_length)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> list[str]:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > self.max_items:
            raise refuse(f"must be a list of at most {self.max_items} lines of text")
        problems: dict[int, Any] = {}
        for index, line in enumerate(value):
            try:
                self.line.deserialize(line)
            except ValidationError as why:
                problems[index] = why.messages
        if problems:
            raise ValidationError(problems)
        return list(value)


class Reference(fields.Field[Any]):
    """Another entry: its id or alias, or (inline) an object of that entry's own shape."""

    def __init__(self, kind: str, inline: type[Schema] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.kind = kind
        self.inline = inline

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> Any:
        if isinstance(value, str) and value:
            return value
        if isinstance(value, Mapping) and self.inline is not None:
            return self.inline().load(dict(value))
        shape = "an id" if self.inline is None else "an id or an object of the shape that the catalogue gives out"
        raise refuse(f"must be {shape} (one of the {self.kind})")
