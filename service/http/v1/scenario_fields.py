"""Fields that only scenarios have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError

from service.errors import FieldProblem
from service.http.fields import StatedField, refuse

MOST_TAGS: Final = 20
LONGEST_TAG: Final = 100


class InputsField(StatedField):
    """The body of an estimate; its kind's own schema reads it."""

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> Any:
        if not isinstance(value, dict):
            refuse("must be an object", value, "the body that the estimate endpoint takes")
        return value


class TagsField(StatedField):
    """A few short tags, each once."""

    def json_schema(self) -> dict[str, Any]:
        tag = {"type": "string", "minLength": 1, "maxLength": LONGEST_TAG}
        return {"type": "array", "items": tag, "maxItems": MOST_TAGS, "uniqueItems": True}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **_: Any) -> list[str]:
        allowed = f"up to {MOST_TAGS} different texts of 1 to {LONGEST_TAG} characters"
        if not isinstance(value, list):
            refuse("must be a list of tags", value, allowed, [value] if isinstance(value, str) else None)
        problems = [
            FieldProblem(f"/{index}", f"must be text of 1 to {LONGEST_TAG} characters", tag, allowed)
            for index, tag in enumerate(value)
            if not isinstance(tag, str) or not 1 <= len(tag) <= LONGEST_TAG
        ]
        if problems:
            raise ValidationError(problems)
        different = list(dict.fromkeys(value))
        if len(value) > MOST_TAGS or different != value:
            refuse("must be few and different", value, allowed, different[:MOST_TAGS])
        return value
