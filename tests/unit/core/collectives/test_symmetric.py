"""Kernels on symmetric windows, by hand on round constants."""

import dataclasses

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.path import SymmetricConstants
from service.core.collectives.symmetric import symmetric
from service.errors import UnsupportedCollective
from tests.collective_paths import within

CONSTANTS = SymmetricConstants(4e-6, 3e-6, 8e-6, 7e-6)
PATH = within(8, symmetric=CONSTANTS, registered_buffers=True)


def test_ll_sends_everything_with_its_flags_to_every_peer():
    """3 kB: 2 × 7 × 3 kB = 42 kB at 0.75 × 400 GB/s: 0.14 us and 4 us."""
    cost = symmetric(Collective.ALL_REDUCE, Protocol.LL, 8, 3e3, PATH)
    assert cost.seconds == pytest.approx(4.14e-6)
    assert cost.bytes_on_wire_per_gpu == pytest.approx(42e3)


def test_ll_gather_sends_a_share():
    """24 kB of eight: 2 × 7 × 3 kB, and its own launch of 3 us."""
    assert symmetric(Collective.ALL_GATHER, Protocol.LL, 8, 24e3, PATH).seconds == pytest.approx(3.14e-6)


def test_the_switch_adds_where_it_can():
    """0.8 GB: 0.9 GB through the switch at 0.75 × 400 GB/s is 3 ms, and 8 us."""
    assert symmetric(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 0.8e9, PATH).seconds == pytest.approx(3.008e-3)


def test_without_such_a_switch_every_share_is_read_and_written():
    """2 × 7/8 × 1.2 GB = 2.1 GB at 300 GB/s: 7 ms and 8 us."""
    path = dataclasses.replace(PATH, nvls=None)
    assert symmetric(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 1.2e9, path).seconds == pytest.approx(7.008e-3)


@pytest.mark.parametrize("collective", [Collective.ALL_GATHER, Collective.REDUCE_SCATTER])
def test_gather_and_scatter_move_all_shares_but_ones_own(collective):
    """7/8 × 2.4 GB = 2.1 GB at 300 GB/s: 7 ms and 7 us."""
    assert symmetric(collective, Protocol.SIMPLE, 8, 2.4e9, PATH).seconds == pytest.approx(7.007e-3)


def test_one_rank_is_free_and_no_kernels_no_way():
    assert symmetric(Collective.ALL_REDUCE, Protocol.LL, 1, 1e9, PATH).seconds == 0.0
    with pytest.raises(UnsupportedCollective):
        symmetric(Collective.ALL_REDUCE, Protocol.LL, 8, 1e9, within(8))
