"""The quick dump gives what marshmallow's own dump would."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import Schema, fields

from service.http.plain_dump import plain_dump


@dataclass
class Leaf:
    size: int
    why: str | None = None


@dataclass
class Tree:
    name: str
    first: Leaf
    leaves: tuple[Leaf, ...]
    maybe: Leaf | None = None
    hidden: str = "not published"


class LeafSchema(Schema):
    size = fields.Integer(required=True)
    why = fields.String()


class TreeSchema(Schema):
    name = fields.String(required=True)
    first = fields.Nested(LeafSchema, required=True)
    leaves = fields.List(fields.Nested(LeafSchema), required=True)
    maybe = fields.Nested(LeafSchema)


class OneFieldSchema(Schema):
    size = fields.Integer(required=True)


def test_only_published_fields_are_dumped_and_absent_ones_left_out() -> None:
    tree = Tree("oak", Leaf(1), (Leaf(2, "wind"), Leaf(3)))
    document = {"name": "oak", "first": {"size": 1}, "leaves": [{"size": 2, "why": "wind"}, {"size": 3}]}
    assert plain_dump(TreeSchema())(tree) == document
    assert TreeSchema().load(document)


def test_a_schema_of_one_field_dumps_too() -> None:
    assert plain_dump(OneFieldSchema())(Leaf(1)) == {"size": 1}
