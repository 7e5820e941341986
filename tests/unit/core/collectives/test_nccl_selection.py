"""NCCL's tuner by hand, with the constants of src/graph/tuning.cc for Hopper (tests/collective_paths.py)."""

import dataclasses
import math

import pytest

from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.collectives.nccl_selection import tree_busbw, tree_size_correction, tuner_seconds
from tests.collective_paths import ROUND, across, within


def believed(collective, algorithm, protocol, num_ranks, size_bytes, path=ROUND):
    return tuner_seconds(collective, algorithm, protocol, num_ranks, size_bytes, path)


def test_ring_ll_all_reduce():
    """6.6 + 14 × 0.6 = 15 us; 1.75 × 8 MB / min(141, 185) GB/s = 99.29 us."""
    t = believed(Collective.ALL_REDUCE, Algorithm.RING, Protocol.LL, 8, 8e6)
    assert t == pytest.approx(15e-6 + 14e6 / 141e9)


def test_ring_ll128_all_gather():
    """14 + 7 × 1.9 = 27.3 us; 7 MB / (0.92 × 370 GB/s) = 20.56 us."""
    t = believed(Collective.ALL_GATHER, Algorithm.RING, Protocol.LL128, 8, 8e6)
    assert t == pytest.approx(27.3e-6 + 7e6 / 340.4e9)


def test_tree_simple():
    """8.4 + 14 × 4 = 64.4 us; 8 MB / (0.5 × 0.782 × 370 GB/s × 0.7) = 79.0 us: 8 MB has the factor of 4 MiB."""
    t = believed(Collective.ALL_REDUCE, Algorithm.TREE, Protocol.SIMPLE, 8, 8e6)
    assert t == pytest.approx(64.4e-6 + 8e6 / (0.5 * 0.782 * 370e9 * 0.7))


@pytest.mark.parametrize(
    ("protocol", "size_bytes", "factor"),
    [
        (Protocol.LL, 64, 1.0),
        (Protocol.LL, 1 << 18, 0.4),
        (Protocol.LL, 1 << 30, 1.0),
        (Protocol.SIMPLE, 1, 0.9),
        (Protocol.SIMPLE, 1 << 17, 0.5),
    ],
)
def test_trees_fall_short_at_middle_sizes(protocol, size_bytes, factor):
    """256 KiB / 64 is 2^12, the thirteenth factor of LL: 0.4; 128 KiB the twelfth of Simple: 0.5."""
    assert tree_size_correction(protocol, size_bytes) == factor


def test_tree_ll_over_two_nodes_is_what_nccl_believes():
    """6.8 + 2 × (7 × 0.6 + 5) = 25.2 us; at 256 KiB 262144 / (0.5 × 39 GB/s × 0.4) = 33.6 us."""
    t = believed(Collective.ALL_REDUCE, Algorithm.TREE, Protocol.LL, 16, 1 << 18, across(2))
    assert tree_busbw(Protocol.LL, across(2)) == 39e9
    assert t == pytest.approx(25.2e-6 + 33.6e-6, rel=1e-3)


def test_nvls_tree_over_two_nodes():
    """25 + 2 × 20.9 = 66.8 us; a head's 59.5 GB/s is capped at 57.7: 8 × 57.7 = 461.6 GB/s."""
    t = believed(Collective.ALL_REDUCE, Algorithm.NVLS_TREE, Protocol.SIMPLE, 16, 1 << 30, across(2))
    assert t == pytest.approx(66.8e-6 + 1.875 * (1 << 30) / 461.6e9)


def test_ring_simple_between_nodes_has_a_plateau():
    """(8.4 + 28 × 3.4 + 2 × 14) × 1.4 = 184.24 us, and 370 GB/s at two nodes."""
    t = believed(Collective.ALL_REDUCE, Algorithm.RING, Protocol.SIMPLE, 16, 1 << 30, across(2))
    assert t == pytest.approx(184.24e-6 + 1.875 * (1 << 30) / 370e9)


def test_from_three_nodes_on_the_nics_bound_the_ring():
    """8 × 50 × 0.96 = 384 GB/s is above the links' 370; NICs of half the rate give 192."""
    import dataclasses

    path = across(4)
    slow = dataclasses.replace(path, fabric=dataclasses.replace(path.fabric, line_bytes_per_second=25e9))
    fast, half = (believed(Collective.ALL_GATHER, Algorithm.RING, Protocol.SIMPLE, 32, 1e12, p) for p in (path, slow))
    assert half / fast == pytest.approx(370 / 192, rel=1e-3)


def test_nvls():
    """25 us; busbw 2 × 8 heads × 40 GB/s × 0.85 × 7/8 = 476 GB/s, so 14 MB take 29.4 us."""
    t = believed(Collective.ALL_REDUCE, Algorithm.NVLS, Protocol.SIMPLE, 8, 8e6)
    assert t == pytest.approx(25e-6 + 14e6 / 476e9)


def test_no_switch_is_never_fast():
    path = dataclasses.replace(ROUND, nvls=None)
    assert math.isinf(believed(Collective.ALL_REDUCE, Algorithm.NVLS, Protocol.SIMPLE, 8, 8e6, path))


def test_broadcast_hops_once_a_rank():
    """8.4 + 4 × 3.4 = 22 us; 3.7 MB / 370 GB/s = 10 us."""
    t = believed(Collective.BROADCAST, Algorithm.RING, Protocol.SIMPLE, 4, 3.7e6, within(4))
    assert t == pytest.approx(32e-6)


def test_direct_has_no_rival():
    assert believed(Collective.ALL_TO_ALL, Algorithm.DIRECT, Protocol.SIMPLE, 8, 8e6) == 0.0
