"""Fields: what each takes, and what it says of the rest."""

import math

import pytest
from marshmallow import ValidationError

from service.catalog.schemas.fields import (
    Count,
    Flag,
    OneOf,
    Quantity,
    QuantityMap,
    Ratio,
    Reference,
    Text,
    TextList,
)
from service.catalog.schemas.networks import NetworkSchema

NOT_NUMBERS = [math.nan, math.inf, -math.inf, True, "1", None, [], {}]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0, -1, 1e19, 10**400])
def test_a_rate_is_positive_finite_and_not_absurd(value):
    with pytest.raises(ValidationError):
        Quantity("bytes_per_second").deserialize(value)


def test_bytes_stay_whole():
    size = Quantity("bytes")
    assert size.deserialize("80GiB") == 85_899_345_920
    assert isinstance(size.deserialize(8e10), int)
    assert Quantity("watts").deserialize(700) == 700.0


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0, 9, 1.5, 10**400])
def test_a_count_is_whole_and_within_bounds(value):
    with pytest.raises(ValidationError):
        Count(high=8).deserialize(value)


def test_json_writes_eight_as_it_likes():
    assert Count(high=8).deserialize(8.0) == Count(high=8).deserialize(8) == 8


@pytest.mark.parametrize("value", [*NOT_NUMBERS, -0.1, 1.1])
def test_a_ratio_is_within_bounds(value):
    with pytest.raises(ValidationError):
        Ratio(0, 1).deserialize(value)


@pytest.mark.parametrize("value", [0, 1, "true", None, "yes"])
def test_true_has_no_synonym(value):
    with pytest.raises(ValidationError):
        Flag().deserialize(value)


@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "\0", "x" * 3000, 5, None])
def test_a_line_of_text(value):
    with pytest.raises(ValidationError):
        Text().deserialize(value)
    with pytest.raises(ValidationError) as refused:
        TextList().deserialize(["fine", value])
    assert set(refused.value.messages) == {1}


def test_a_word_of_a_list_is_suggested_in_its_own_case():
    with pytest.raises(ValidationError) as refused:
        OneOf(("switch", "mesh")).deserialize("Mesh")
    assert refused.value.messages[0].suggestion == "mesh"


def test_figures_by_name():
    peaks = QuantityMap("flops_per_second", ("bf16", "fp8"))
    assert peaks.deserialize({"bf16": 1e15}) == {"bf16": 1e15}
    with pytest.raises(ValidationError) as refused:
        peaks.deserialize({"bf16": -1, "bf32": 1})
    assert set(refused.value.messages) == {"bf16", "bf32"}
    with pytest.raises(ValidationError):
        peaks.deserialize([1e15])


def test_a_reference_is_a_name_or_an_object():
    assert Reference("networks").deserialize("nvlink4") == "nvlink4"
    assert Reference("networks", NetworkSchema).deserialize({"kind": "nvlink"}) == {"kind": "nvlink"}
    for refused in ({"kind": "nvlink"}, "", 5, None):
        with pytest.raises(ValidationError):
            Reference("networks").deserialize(refused)
