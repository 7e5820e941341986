"""Every problem of a document is told, each where it is, in the schema's order."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields

from service.errors import FieldProblem
from service.http.fields import Choice, Count, Text
from service.http.strict_schema import StrictSchema


class WheelSchema(StrictSchema):
    spokes = Count(high=40, required=True)


class CartSchema(StrictSchema):
    colour = Choice(("red", "blue"), required=True)
    wheels = fields.List(fields.Nested(WheelSchema), required=True)
    name = Text(longest=5)
    spare = fields.Nested(WheelSchema)


def problems(document: dict[str, Any], earlier: tuple[FieldProblem, ...] = ()) -> list[FieldProblem]:
    schema = CartSchema()
    try:
        schema.load(document)
    except ValidationError as error:
        return schema.problems(error, document, earlier)
    return []


def test_pointers_lead_into_lists_and_objects() -> None:
    found = problems({"name": "waggon", "wheels": [{"spokes": 8}, {"spokes": 0}, {"spoke": 8}, 7], "colour": "green"})
    assert [problem.pointer for problem in found][:3] == ["/colour", "/wheels/1/spokes", "/wheels/2/spokes"]
    assert found[1].value == 0
    assert found[-1].pointer == "/name"
    assert {"/wheels/2/spoke", "/wheels/3"} <= {problem.pointer for problem in found}


def test_parts_tell_their_problems_as_the_whole_does() -> None:
    cart = {"colour": "red", "wheels": []}
    found = problems(cart | {"spare": {"spoke": 8}})
    assert [problem.pointer for problem in found] == ["/spare/spokes", "/spare/spoke"]
    assert found[1].suggestion == "spokes"
    assert [problem.pointer for problem in problems(cart | {"spare": 7})] == ["/spare"]


def test_missing_and_unknown_fields_say_what_would_do() -> None:
    found = {problem.pointer: problem for problem in problems({"color": "red", "a/b~c": 1})}
    assert found["/colour"].allowed == ["red", "blue"]
    assert found["/colour"].message == "is required"
    assert found["/color"].suggestion == "colour"
    assert found["/a~1b~0c"].value == "a/b~c"


def test_what_the_query_already_refused_is_not_told_twice() -> None:
    earlier = FieldProblem("/colour", "is given more than once")
    found = problems({"wheels": []}, (earlier,))
    assert found == [earlier]
