"""Fields that say what they would take: every refusal carries the value, the allowed ones and the nearest of them.

Each field states its JSON Schema too, so that the published document and the check cannot drift apart. All accept
null where they are optional: it means that nothing was given.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NoReturn

from marshmallow import ValidationError, fields

from service.catalog.quantities import MAX_SIZE_BYTES, InvalidQuantity, parse_size
from service.errors import FieldProblem
from service.http.echo import shorten
from service.http.json_body import number_or_text

MOST_GPUS: Final = 10_000_000
LONGEST_SECONDS: Final = 1_000_000_000.0
_SIZE_PATTERN: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(B|[kMGTP]B|[KMGTP]iB)?\s*$"


def refuse(message: str, value: Any, allowed: Any = None, suggestion: Any = None) -> NoReturn:
    """Refuse a field's value."""
    raise ValidationError([FieldProblem("", message, value, allowed, suggestion)])


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name most like the one that was given, if any is."""
    by_folded = {item.lower(): item for item in known}
    folded = str(name)[:100].lower().replace("-", "_")
    found = difflib.get_close_matches(folded, list(by_folded), n=1, cutoff=0.5)
    return by_folded[found[0]] if found else None


class StatedField(fields.Field[Any]):
    """A field that states its own JSON Schema."""

    def __init__(self, **options: Any) -> None:
        required = options.get("required", False)
        metadata = options.pop("metadata", {})
        super().__init__(allow_none=not required, **options)
        self.metadata = {**(self.json_schema() if required else _or_null(self.json_schema())), **metadata}

    def json_schema(self) -> dict[str, Any]:
        """Return what the field takes, null aside."""
        raise NotImplementedError

    def from_query(self, text: str) -> Any:
        """Return a query parameter's text as the JSON value it stands for."""
        return text


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Let a schema take null; apispec does it for plain types, not for these."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {**schema, "enum": [*schema["enum"], None]} if "enum" in schema else schema


class Number(StatedField):
    """What counts and durations share: a JSON number between bounds."""

    def __init__(self, *, low: float, high: float, **options: Any) -> None:
        self.low, self.high = low, high
        super().__init__(**options)

    @property
    def allowed(self) -> dict[str, float]:
        """The bounds, as refusals tell them."""
        return {"min": self.low, "max": self.high}

    def from_query(self, text: str) -> Any:
        """Read a JSON number; what is none stays text, and is refused as such."""
        return number_or_text(text)

    def clamp(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.low), self.high)

    def refuse_not_a_number(self, value: Any, wanted: str) -> NoReturn:
        """Refuse text, booleans, lists and objects; text that reads as a number suggests it."""
        number: Any = number_or_text(value.strip()) if isinstance(value, str) else value
        plain = isinstance(number, (int, float)) and not isinstance(number, bool)
        refuse(f"must be {wanted}", value, self.allowed, self.suggest(number) if plain else None)

    def suggest(self, value: float) -> float:
        """Return the nearest value that would be taken."""
        return self.clamp(value)


class Count(Number):
    """A whole number. 8.0 is one, as JSON Schema says; 8.5 and true are not."""

    def __init__(self, *, low: int = 1, high: int, **options: Any) -> None:
        super().__init__(low=low, high=high, **options)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def suggest(self, value: float) -> float:
        return int(self.clamp(value if isinstance(value, int) or not math.isfinite(value) else round(value)))

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse_not_a_number(value, "a whole number")
        if not self.low <= value <= self.high:
            refuse(f"must be between {self.low} and {self.high}", value, self.allowed, self.suggest(value))
        if value != int(value):
            refuse("must be a whole number", value, self.allowed, self.suggest(value))
        return int(value)


class Seconds(Number):
    """A duration: finite and not negative."""

    def __init__(self, *, low: float = 0.0, high: float = LONGEST_SECONDS, **options: Any) -> None:
        super().__init__(low=low, high=high, **options)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse_not_a_number(value, "a number of seconds")
        if not self.low <= value <= self.high:
            refuse(f"must be between {self.low:g} and {self.high:g} seconds", value, self.allowed, self.suggest(value))
        return float(value)


class Figure(Number):
    """A plain number between bounds, such as a ratio."""

    def __init__(self, *, low: float = 0.0, high: float = 1.0, **options: Any) -> None:
        super().__init__(low=low, high=high, **options)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse_not_a_number(value, "a number")
        if not self.low <= value <= self.high:
            refuse(f"must be between {self.low:g} and {self.high:g}", value, self.allowed, self.suggest(value))
        return float(value)


class CountOrMax(Count):
    """A whole number, or "max": as many as there can be, which means None."""

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [super().json_schema(), {"type": "string", "enum": ["max"]}]}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> Any:
        return None if value == "max" else super()._deserialize(value, attr, data)


class Size(Number):
    """Bytes: a whole number, or text such as 64MiB (2^20) or 141GB (10^9). A bare G could be either and is refused."""

    _ALLOWED = "bytes from {low} to {high}: a whole number, or text with its unit (64MiB is 2^20, 141GB is 10^9)"

    def __init__(self, *, low: int = 1, high: int = MAX_SIZE_BYTES, **options: Any) -> None:
        super().__init__(low=low, high=high, **options)
        self._wanted = self._ALLOWED.format(low=low, high=high)

    def json_schema(self) -> dict[str, Any]:
        number = {"type": "integer", "minimum": self.low, "maximum": self.high}
        return {"anyOf": [number, {"type": "string", "pattern": _SIZE_PATTERN, "examples": ["64MiB", "141GB"]}]}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            refuse("must be a size in bytes", value, self._wanted)
        number = self._parse(value) if isinstance(value, str) else value
        if not self.low <= number <= self.high:
            refuse(f"must be from {self.low} to {self.high} bytes", value, self._wanted, int(self.clamp(number)))
        if number != int(number):
            refuse("must be a whole number of bytes", value, self._wanted, round(number))
        return int(number)

    def _parse(self, text: str) -> int:
        try:
            return parse_size(text)
        except InvalidQuantity as why:
            refuse(why.message, text, self._wanted, why.suggestion or self._from_plain_number(text))

    def _from_plain_number(self, text: str) -> float | None:
        number = number_or_text(text.strip())
        return None if isinstance(number, str) else int(self.clamp(number))


class Choice(StatedField):
    """One of an enum's values. `auto` is taken too where the planner may choose, and means None."""

    def __init__(self, values: type[StrEnum] | tuple[str, ...], *, auto: bool = False, **options: Any) -> None:
        self._taken: dict[str, Any] = {"auto": None} if auto else {}
        self._taken |= {str(value): value for value in values}
        super().__init__(**options)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self._taken)}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> Any:
        if isinstance(value, str) and value in self._taken:
            return self._taken[value]
        allowed = list(self._taken)
        refuse(f"must be one of {', '.join(allowed)}", value, allowed, nearest(value, allowed))


class Switch(StatedField):
    """true or false; neither 1 nor "yes"."""

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def from_query(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text, text)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> bool:
        if not isinstance(value, bool):
            likely = str(value).lower() in ("1", "1.0", "yes", "on", "true")
            refuse("must be true or false", value, [True, False], likely)
        return value


class Text(StatedField):
    """Text of bounded length, optionally of a pattern."""

    def __init__(self, *, shortest: int = 1, longest: int, pattern: str | None = None, **options: Any) -> None:
        self._shortest, self._longest, self._pattern = shortest, longest, pattern
        super().__init__(**options)

    def json_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "string", "minLength": self._shortest, "maxLength": self._longest}
        return schema | ({"pattern": self._pattern} if self._pattern else {})

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> str:
        allowed = f"text of {self._shortest} to {self._longest} characters"
        if not isinstance(value, str):
            refuse("must be text", value, allowed, None if isinstance(value, (dict, list)) else shorten(str(value)))
        if not self._shortest <= len(value) <= self._longest:
            refuse(f"must be {allowed}, not of {len(value)}", value, allowed, value[: self._longest] or None)
        if self._pattern and not re.search(self._pattern, value):
            refuse("is not of the form that is taken", value, f"text that matches {self._pattern}")
        return value


class EntryReference(StatedField):
    """A catalogue id or alias, or an inline object of the shape that the catalogue gives out."""

    def json_schema(self) -> dict[str, Any]:
        name = {"type": "string", "minLength": 1, "maxLength": 200}
        return {"anyOf": [name, {"type": "object", "description": "An entry as /v1/catalog gives it out."}]}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> Any:
        if isinstance(value, Mapping) or (isinstance(value, str) and 0 < len(value) <= 200):
            return value
        refuse("must name a catalogue entry", value, "an id, an alias or an inline object; /v1/catalog lists them")
