"""A query says what a body would."""

from __future__ import annotations

from marshmallow import Schema, fields
from werkzeug.datastructures import MultiDict

from service.http.fields import Count, Seconds, Size, Switch, Text
from service.http.query import other_parameters, read_query
from service.http.strict_schema import StrictSchema


class TrafficSchema(StrictSchema):
    ratio = Seconds()


class QuestionSchema(StrictSchema):
    gpus = Count(high=100)
    size_bytes = Size()
    name = Text(longest=20)
    graph = Switch()
    traffic = fields.Nested(TrafficSchema)


SCHEMA: Schema = QuestionSchema()


def test_text_becomes_what_the_fields_take() -> None:
    arguments = MultiDict(
        [
            ("gpus", "8"),
            ("size_bytes", "64MiB"),
            ("name", "8"),
            ("graph", "true"),
            ("traffic.ratio", "3"),
            ("format", "text"),
        ]
    )
    document, problems = read_query(arguments, SCHEMA)
    assert not problems
    assert document == {"gpus": 8, "size_bytes": "64MiB", "name": "8", "graph": True, "traffic": {"ratio": 3}}
    assert SCHEMA.load(document)["traffic"] == {"ratio": 3.0}


def test_repeated_empty_and_contradicting_parameters_are_all_told() -> None:
    arguments = MultiDict(
        [
            ("gpus", "8"),
            ("gpus", "16"),
            ("name", ""),
            ("a", "1"),
            ("a.b", "2"),
            ("nul", "a\x00b"),
            (".".join("x" * 99), "1"),
        ]
    )
    _, problems = read_query(arguments, SCHEMA)
    assert [problem.pointer for problem in problems][:4] == ["/gpus", "/name", "/a/b", "/nul"]
    assert len(problems) == 5


def test_a_body_leaves_nothing_to_the_query_but_the_format() -> None:
    assert other_parameters(MultiDict([("format", "json")])) == []
    (problem,) = other_parameters(MultiDict([("format", "json"), ("gpus", "8")]))
    assert problem.pointer == "/gpus"
