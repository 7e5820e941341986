"""The working reads from the bytes to the answer."""

from functools import cache

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Collective
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion


@cache
def catalog():
    return load_shipped_catalog()


@cache
def lines(**fields):
    question = CollectiveQuestion("dgx-h100", Collective.ALL_REDUCE, 8, **fields)
    return {line.symbol: line for line in estimate_collective(question, catalog()).derivation}


def test_a_models_gradients_are_its_parameters_times_the_bytes_of_one():
    """70553706496 × 2 B = 141107412992 B."""
    working = lines(model="llama3-70b")
    assert working["P"].value == 70553706496
    assert working["d"].value == 2
    assert working["S"].value == 141107412992


def test_the_factor_and_the_two_rates_are_told_apart():
    """f = 1.75; W = 1.75 × 1 GB; 900 GB/s sums both directions, 450 GB/s is one: 1.94 ms and 3.89 ms."""
    working = lines(size_bytes=10**9)
    assert working["f"].value == 1.75
    assert working["W"].value == 1.75e9
    assert (working["B_headline"].value, working["B"].value) == (900e9, 450e9)
    assert round(working["t_headline"].value * 1e3, 2) == 1.94
    assert round(working["t_ideal"].value * 1e3, 2) == 3.89
    assert "both directions summed" in working["B_headline"].label


def test_time_is_the_sum_of_its_two_lines():
    working = lines(size_bytes=10**9)
    assert working["t"].value == working["t_bandwidth"].value + working["t_latency"].value


def test_a_window_is_subtracted():
    assert lines(size_bytes=10**9, overlap_window_seconds=60.0)["t_exposed"].value == 0.0
    assert str(lines(size_bytes=10**9)["t_hidden"].value).startswith("all of t from w = 0.00")


def test_every_line_has_a_unit_and_a_source():
    for line in lines(size_bytes=10**9).values():
        assert line.source
        assert line.unit or isinstance(line.value, str)
