"""NCCL's tuner by hand, with the constants of src/graph/tuning.cc for Hopper (tests/collective_paths.py)."""

import dataclasses
import math

import pytest

from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.collectives.nccl_selection import tuner_seconds
from tests.collective_paths import ROUND


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
    """8.4 + 14 × 4 = 64.4 us; 8 MB / (0.5 × 0.782 × 370 GB/s) = 55.3 us."""
    t = believed(Collective.ALL_REDUCE, Algorithm.TREE, Protocol.SIMPLE, 8, 8e6)
    assert t == pytest.approx(64.4e-6 + 8e6 / (0.5 * 0.782 * 370e9))


def test_nvls():
    """25 us; busbw 2 × 8 heads × 40 GB/s × 0.85 × 7/8 = 476 GB/s, so 14 MB take 29.4 us."""
    t = believed(Collective.ALL_REDUCE, Algorithm.NVLS, Protocol.SIMPLE, 8, 8e6)
    assert t == pytest.approx(25e-6 + 14e6 / 476e9)


def test_no_switch_is_never_fast():
    path = dataclasses.replace(ROUND, nvls=None)
    assert math.isinf(believed(Collective.ALL_REDUCE, Algorithm.NVLS, Protocol.SIMPLE, 8, 8e6, path))


def test_broadcast_hops_once_a_rank():
    """8.4 + 4 × 3.4 = 22 us; 3.7 MB / 370 GB/s = 10 us."""
    t = believed(Collective.BROADCAST, Algorithm.RING, Protocol.SIMPLE, 4, 3.7e6)
    assert t == pytest.approx(32e-6)


def test_direct_has_no_rival():
    assert believed(Collective.ALL_TO_ALL, Algorithm.DIRECT, Protocol.SIMPLE, 8, 8e6) == 0.0
