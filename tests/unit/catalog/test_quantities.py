"""The only conversion of units in the house: by hand, and by property."""

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.catalog.quantities import (
    MAX_SIZE_BYTES,
    UNITS,
    InvalidQuantity,
    format_quantity,
    parse_quantity,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("3.35 TB/s", "bytes_per_second", 3.35e12),
        ("400 Gbit/s", "bytes_per_second", 50e9),  # eight bits a byte
        ("12.5 Gbit/s", "bytes_per_second", 1.5625e9),
        ("800 GiB/s", "bytes_per_second", 858993459200.0),  # 800 x 2^30
        ("80 GB", "bytes", 80e9),
        ("80 GiB", "bytes", 85899345920.0),  # 80 x 2^30
        ("81559 MiB", "bytes", 85520809984.0),  # 81559 x 2^20
        ("126.5 MiB", "bytes", 132644864.0),
        ("989.4 TFLOP/s", "flops_per_second", 9.894e14),
        ("1978.9 TOP/s", "flops_per_second", 1.9789e15),
        ("1 PFLOP/s", "flops_per_second", 1e15),
        ("700 W", "watts", 700.0),
        ("10.2 kW", "watts", 10200.0),
        ("1830 MHz", "hertz", 1.83e9),
        ("32 GT/s", "transfers_per_second", 32e9),
        ("25 us", "seconds", 25e-6),
        ("130 ns", "seconds", 130e-9),
        ("98.32 USD/h", "usd_per_hour", 98.32),
        ("149000 USD", "usd", 149000.0),
    ],
)
def test_data_sheets_figures(text, dimension, value):
    assert parse_quantity(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("400 Gb/s", "bytes_per_second"),  # bits, to some
        ("400 GBps", "bytes_per_second"),
        ("80GB", "bytes"),
        ("80  GB", "bytes"),
        (" 80 GB", "bytes"),
        ("80 gb", "bytes"),
        ("80 G", "bytes"),
        ("450", "bytes_per_second"),
        (450, "bytes_per_second"),
        (450.0, "bytes_per_second"),
        (True, "bytes"),
        (None, "bytes"),
        ([80], "bytes"),
        ("-1 GB", "bytes"),
        ("1e3 GB", "bytes"),
        ("1_000 GB", "bytes"),
        ("1,5 GB", "bytes"),
        (".5 GB", "bytes"),
        ("٣ GB", "bytes"),  # a digit, but not one of ours
        ("NaN GB", "bytes"),
        ("700 W", "bytes"),
        ("80 GB/s", "bytes"),
        ("80 GB\n", "bytes"),
        ("1" * 400 + " GB", "bytes"),
    ],
)
def test_everything_else_is_refused(text, dimension):
    with pytest.raises(InvalidQuantity):
        parse_quantity(text, dimension)


@pytest.mark.parametrize(
    ("text", "dimension", "suggestion"),
    [
        ("400 Gb/s", "bytes_per_second", "400 Gbit/s"),
        ("400 Gbps", "bytes_per_second", "400 Gbit/s"),
        ("80GB", "bytes", "80 GB"),
        ("3.35 tb/s", "bytes_per_second", "3.35 TB/s"),
        ("989 TFLOPs", "flops_per_second", "989 TFLOP/s"),
        ("700 w", "watts", "700 W"),
    ],
)
def test_the_nearest_that_would_be_taken_is_suggested(text, dimension, suggestion):
    with pytest.raises(InvalidQuantity) as refused:
        parse_quantity(text, dimension)
    assert refused.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("given_size", "size"),
    [
        (1, 1),
        (1440.0, 1440),  # OpenAPI's integer admits it
        ("1024", 1024),
        ("1B", 1),
        ("141GB", 141_000_000_000),
        ("4GiB", 4_294_967_296),
        ("64MiB", 67_108_864),
        ("64 MiB", 67_108_864),
        ("1.5 GiB", 1_610_612_736),
        ("0.5kB", 500),
        ("1KiB", 1024),
        (MAX_SIZE_BYTES, 10**18),
    ],
)
def test_sizes_of_a_request(given_size, size):
    assert parse_size(given_size) == size
    assert isinstance(parse_size(given_size), int)


NUMBERS = [0, -1, 1.5, float("nan"), float("inf"), 1e309, pytest.param(10**5000, id="5001 digits"), MAX_SIZE_BYTES + 1]
OTHERS = [True, False, None, [], {}]
TEXTS = ["", " ", "0GB", "-1GB", "1.3B", "1e9", "1gb", "1Gb", "1KB", "1 Gbit", "1GB/s", "GB", "nan", "9" * 400, "½GB"]


@pytest.mark.parametrize("refused", [*NUMBERS, *OTHERS, *TEXTS])
def test_what_is_no_size(refused):
    with pytest.raises(InvalidQuantity) as why:
        parse_size(refused)
    assert len(str(why.value)) < 300


@pytest.mark.parametrize(
    ("ambiguous", "suggestion"),
    [
        ("1G", "1GB or 1GiB"),
        ("G", "1GB or 1GiB"),
        ("64M", "64MB or 64MiB"),
        ("1k", "1kB or 1KiB"),
        ("2gb", "2GB or 2GiB"),
    ],
)
def test_a_bare_prefix_is_ambiguous(ambiguous, suggestion):
    with pytest.raises(InvalidQuantity) as why:
        parse_size(ambiguous)
    assert why.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (3.35e12, "bytes_per_second", "3.35 TB/s"),
        (50e9, "bytes_per_second", "50 GB/s"),
        (85520809984, "bytes", "85.52 GB"),
        (1, "bytes", "1 B"),
        (0, "bytes", "0 B"),
        (25e-6, "seconds", "25 us"),
        (0.548, "seconds", "548 ms"),
        (3456000, "seconds", "40 d"),
        (1e-12, "seconds", "0.001 ns"),
        (989.4e12, "flops_per_second", "989.4 TFLOP/s"),
        (123456, "watts", "123.5 kW"),
    ],
)
def test_for_a_human_reader(value, dimension, text):
    assert format_quantity(value, dimension) == text


_NUMBERS = st.decimals(min_value=0, max_value=10**9, places=3).map(lambda number: f"{number:f}")
_DIMENSIONS = st.sampled_from(sorted(UNITS)).flatmap(
    lambda dimension: st.tuples(st.just(dimension), st.sampled_from(sorted(UNITS[dimension])))
)


@settings(deadline=None)
@given(_NUMBERS, _DIMENSIONS)
def test_a_unit_is_a_factor(number, dimension_and_unit):
    """number x unit is number times (1 unit), to rounding."""
    dimension, unit = dimension_and_unit
    value = parse_quantity(f"{number} {unit}", dimension)
    assert math.isclose(value, float(number) * parse_quantity(f"1 {unit}", dimension), rel_tol=1e-12)


@settings(deadline=None)
@given(_NUMBERS, _DIMENSIONS)
def test_what_is_printed_is_read_back_to_four_digits(number, dimension_and_unit):
    dimension, unit = dimension_and_unit
    value = parse_quantity(f"{number} {unit}", dimension)
    printed = format_quantity(value, dimension)
    smallest = min(float(factor) for factor in UNITS[dimension].values())
    assert math.isclose(parse_quantity(printed, dimension), value, rel_tol=1e-3, abs_tol=smallest)


@settings(deadline=None)
@given(st.integers(1, MAX_SIZE_BYTES))
def test_an_integer_is_its_own_size(size):
    assert parse_size(size) == size == parse_size(str(size)) == parse_size(f"{size}B")


@settings(deadline=None)
@given(st.text(max_size=60) | st.floats() | st.integers() | st.binary(max_size=9) | st.none() | st.booleans())
def test_nothing_but_a_refusal_ever_comes_out(anything):
    for parse in (parse_size, lambda value: parse_quantity(value, "bytes_per_second")):
        with contextlib.suppress(InvalidQuantity):
            assert 0 <= parse(anything) < math.inf
