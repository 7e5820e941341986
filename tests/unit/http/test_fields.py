"""Each field refuses with the value, what it would take and the nearest of that."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from marshmallow import ValidationError

from service.errors import FieldProblem
from service.http.fields import Choice, Count, EntryReference, Seconds, Size, StatedField, Switch, Text
from service.http.json_body import HugeNumber


class Colour(StrEnum):
    RED = "red"
    DARK_RED = "dark_red"


def problem_of(field: StatedField, value: Any) -> FieldProblem:
    with pytest.raises(ValidationError) as caught:
        field.deserialize(value)
    (problem,) = caught.value.messages
    assert isinstance(problem, FieldProblem)
    assert problem.value is value
    return problem


GPUS = Count(high=1000, required=True)


@pytest.mark.parametrize(("value", "count"), [(1, 1), (8, 8), (8.0, 8), (1000, 1000), (1e3, 1000)])
def test_a_count_takes_whole_numbers_however_written(value: float, count: int) -> None:
    taken = GPUS.deserialize(value)
    assert taken == count
    assert type(taken) is int


@pytest.mark.parametrize(
    ("value", "suggestion"),
    [
        (0, 1),
        (-4, 1),
        (1001, 1000),
        (8.5, 8),
        (0.4, 1),
        (1e30, 1000),
        (10**400, 1000),
        (HugeNumber("1e400"), 1000),
        (HugeNumber("-1e400"), 1),
        ("8", 8),
        (" 8.0 ", 8),
        ("1e400", 1000),
        ("eight", None),
        (True, None),
        ([8], None),
        ({}, None),
    ],
)
def test_a_count_suggests_the_nearest_it_takes(value: Any, suggestion: int | None) -> None:
    problem = problem_of(GPUS, value)
    assert problem.suggestion == suggestion
    assert problem.allowed == {"min": 1, "max": 1000}


@pytest.mark.parametrize(
    ("value", "size_bytes"), [(1, 1), (1e9, 10**9), ("64MiB", 2**26), ("141GB", 141 * 10**9), ("1.5kB", 1500), ("7", 7)]
)
def test_a_size_takes_bytes_and_units(value: Any, size_bytes: int) -> None:
    assert Size(required=True).deserialize(value) == size_bytes


@pytest.mark.parametrize(
    "value", ["1G", "1g", "1K", "GB", "", "NaN", "1e400", "-1GB", "0", "0GB", "1.5", "1Gb", "1 GB/s"]
)
def test_a_size_refuses_text_that_is_ambiguous_or_no_size(value: str) -> None:
    assert "unit" in problem_of(Size(required=True), value).allowed


@pytest.mark.parametrize(
    ("value", "suggestion"), [(0, 1), (-1, 1), (2.5, 2), (10**30, 10**18), (HugeNumber("1e400"), 10**18)]
)
def test_a_size_suggests_the_nearest_number(value: Any, suggestion: int) -> None:
    assert problem_of(Size(required=True), value).suggestion == suggestion


@pytest.mark.parametrize("value", [True, [], {}])
def test_a_size_is_a_number_or_text(value: Any) -> None:
    problem_of(Size(required=True), value)


def test_a_bare_g_is_refused_with_both_readings() -> None:
    suggestion = problem_of(Size(required=True), "1G").suggestion
    assert "1GB" in suggestion
    assert "1GiB" in suggestion


def test_a_choice_gives_the_enum_and_suggests_the_nearest() -> None:
    field = Choice(Colour, auto=True, required=True)
    assert field.deserialize("red") is Colour.RED
    assert field.deserialize("auto") is None
    problem = problem_of(field, "Dark-Red")
    assert problem.suggestion == "dark_red"
    assert problem.allowed == ["auto", "red", "dark_red"]
    assert problem_of(field, 5).suggestion is None
    problem_of(field, ["red"])
    problem_of(field, {})


@pytest.mark.parametrize(("value", "suggestion"), [(-1, 0), (HugeNumber("1e400"), 1e9), ("3", 3), ("soon", None)])
def test_seconds_are_finite_and_not_negative(value: Any, suggestion: float | None) -> None:
    assert Seconds(required=True).deserialize(0.25) == 0.25
    assert problem_of(Seconds(required=True), value).suggestion == suggestion


@pytest.mark.parametrize(("value", "suggestion"), [("true", True), (1, True), (0, False), ("no", False)])
def test_a_switch_takes_booleans_only(value: Any, suggestion: bool) -> None:
    assert Switch(required=True).deserialize(True) is True
    assert problem_of(Switch(required=True), value).suggestion is suggestion


def test_text_is_bounded_and_may_have_a_form() -> None:
    field = Text(longest=5, pattern=r"^[a-z]+$", required=True)
    assert field.deserialize("abc") == "abc"
    assert problem_of(field, "abcdef").suggestion == "abcde"
    problem_of(field, "")
    problem_of(field, "ABC")
    assert problem_of(field, 7).suggestion == "7"


def test_an_entry_is_a_name_or_an_object() -> None:
    field = EntryReference(required=True)
    assert field.deserialize("dgx-h100") == "dgx-h100"
    assert field.deserialize({"id": "mine"}) == {"id": "mine"}
    for value in ("", "x" * 201, 7, ["dgx-h100"], True):
        problem_of(field, value)


def test_optional_fields_take_null_and_say_so() -> None:
    for field in (Count(high=8), Size(), Choice(Colour), Seconds(), Switch(), Text(longest=5), EntryReference()):
        assert field.deserialize(None) is None
    assert {"type": "null"} in Size().metadata["anyOf"]
    assert None in Choice(Colour).metadata["enum"]
