"""algbw, busbw and the size column: the conventions of nccl-tests, by hand."""

import pytest

from service.core.collectives.bandwidth import algbw, busbw, busbw_factor, seconds_at_busbw, total_size_bytes
from service.core.collectives.cost import Collective


def test_all_reduce_sends_every_share_but_ones_own_twice():
    """2 × (8 − 1) / 8 = 1.75."""
    assert busbw_factor(Collective.ALL_REDUCE, 8) == 1.75


@pytest.mark.parametrize("collective", [Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL])
def test_the_others_send_every_share_but_ones_own_once(collective):
    """(8 − 1) / 8 = 0.875; (2 − 1) / 2 = 0.5."""
    assert busbw_factor(collective, 8) == 0.875
    assert busbw_factor(collective, 2) == 0.5


@pytest.mark.parametrize("collective", [Collective.BROADCAST, Collective.REDUCE, Collective.SEND_RECV])
def test_one_buffer_passes_once(collective):
    assert busbw_factor(collective, 8) == 1.0


@pytest.mark.parametrize("collective", list(Collective))
def test_one_rank_sends_nothing(collective):
    assert busbw_factor(collective, 1) == 0.0


def test_algbw_is_buffer_over_time():
    """1 GB in 4 ms is 250 GB/s; no time, no rate."""
    assert algbw(1e9, 4e-3) == pytest.approx(250e9)
    assert algbw(1e9, 0.0) == 0.0


def test_busbw_and_its_inverse():
    """512 MiB on 8 ranks at 361.4 GB/s: 0.875 × 536870912 / 361.4e9 = 1.2998 ms."""
    seconds = seconds_at_busbw(Collective.ALL_GATHER, 8, 536870912, 361.4e9)
    assert seconds == pytest.approx(1.2998e-3, rel=1e-4)
    assert busbw(Collective.ALL_GATHER, 8, 536870912, seconds) == pytest.approx(361.4e9)


def test_size_is_the_larger_of_what_a_rank_sends_and_gets():
    """64 MiB from each of 8 ranks: 512 MiB gathered, scattered or exchanged; a vector to sum stays 64 MiB."""
    assert total_size_bytes(Collective.ALL_GATHER, 8, 64 << 20) == 512 << 20
    assert total_size_bytes(Collective.REDUCE_SCATTER, 8, 64 << 20) == 512 << 20
    assert total_size_bytes(Collective.ALL_REDUCE, 8, 64 << 20) == 64 << 20
