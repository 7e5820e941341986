"""The ring's two laws, worked by hand on round constants (tests/collective_paths.py)."""

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.ring import ring, ring_steps
from tests.collective_paths import ROUND, across


def test_all_reduce_takes_twice_the_steps_of_its_halves():
    """2 × (8 − 1) = 14; 8 − 1 = 7."""
    assert ring_steps(Collective.ALL_REDUCE, 8) == 14
    assert ring_steps(Collective.ALL_GATHER, 8) == ring_steps(Collective.REDUCE_SCATTER, 8) == 7


def test_one_rank_is_free():
    assert ring(Collective.ALL_REDUCE, Protocol.SIMPLE, 1, 1e9, ROUND).seconds == 0.0


def test_simple_large_steps_are_bound_by_the_link():
    """All-gather of 2.4 GB on 8 ranks: share 300 MB; a step 300e6 / (0.75 × 400e9) = 1 ms + 2 us.

    10 us + 7 × 1.002 ms + 5 us + 300e6 / 1e12 (0.3 ms) = 7.329 ms, of which bytes over the rate are 7 ms.
    """
    cost = ring(Collective.ALL_GATHER, Protocol.SIMPLE, 8, 2.4e9, ROUND)
    assert cost.seconds == pytest.approx(7.329e-3)
    assert cost.bandwidth_seconds == pytest.approx(7e-3)
    assert cost.bytes_on_wire_per_gpu == pytest.approx(2.1e9)
    assert cost.steps == 7


def test_simple_small_steps_wait_for_the_handshake():
    """All-reduce of 2.4 MB on 8: share 300 kB; half a step 0.5 us + 5 us handshake beats 1 us + 2 us.

    10 + 14 × 5.5 + 5 + 0.3 = 92.3 us.
    """
    assert ring(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 2.4e6, ROUND).seconds == pytest.approx(92.3e-6)


def test_ll_within_the_first_line_is_all_hops():
    """All-gather of 4 KiB on 4 ranks: traffic 4 × 4 KiB = 16 KiB is one channel; a share of 1 KiB is within the line.

    5 us + 3 × 1 us = 8 us; all of the transfer hides in the hops.
    """
    assert ring(Collective.ALL_GATHER, Protocol.LL, 4, 4096, ROUND).seconds == pytest.approx(8e-6)


def test_ll_beyond_the_first_line_adds_the_transfer():
    """1 MiB on 8: all 16 channels run, so hops are 25 % longer; a share is 131072 B, 8192 B a channel, a line 4096 B.

    All-reduce: (5 + 14) × 1.25 = 23.75 us. Its 7 adding steps leave half of a share beyond the first line, its 7
    forwarding steps three quarters, for they store every word twice: 14 × 131072 / 100e9 × 0.625 = 11.469 us.
    Reduce-scatter: (5 + 7) × 1.25 + 7 × 131072 / 100e9 × 0.5 = 15 + 4.5875 us. All-gather: 15 + 6.88128 us.
    """
    for collective, microseconds in (
        (Collective.ALL_REDUCE, 23.75 + 11.4688),
        (Collective.REDUCE_SCATTER, 15 + 4.58752),
        (Collective.ALL_GATHER, 15 + 6.88128),
    ):
        cost = ring(collective, Protocol.LL, 8, 1 << 20, ROUND)
        assert cost.seconds == pytest.approx(microseconds * 1e-6, rel=1e-5)


def test_ll128_pays_hops_and_transfer():
    """Reduce-scatter of 8 MB on 8: 10 + 7 × 2 + 7e6 / 200e9 (35 us) = 59 us."""
    assert ring(Collective.REDUCE_SCATTER, Protocol.LL128, 8, 8e6, ROUND).seconds == pytest.approx(59e-6)


@pytest.mark.parametrize("collective", [Collective.BROADCAST, Collective.REDUCE])
def test_broadcast_and_reduce_pass_the_whole_buffer(collective):
    """3 GB on 4 ranks at 300 GB/s: 10 ms, and each rank's link carries it once."""
    cost = ring(collective, Protocol.SIMPLE, 4, 3e9, ROUND)
    assert cost.bandwidth_seconds == pytest.approx(10e-3)
    assert cost.bytes_on_wire_per_gpu == 3e9


def test_between_domains_the_ring_leaves_by_all_nics():
    """All-gather of 3.2 GB on 2 domains of 8, NICs of 40 GB/s: 8 × 40 = 320 GB/s, so the links' 300 bind still.

    A share of 200 MB: a step 666.7 us + 2 us; 15 of them, 15/8 of which cross, a hop of 10 us each:
    10 + 15 × 668.667 + 18.75 + 5 + 200 = 10263.7 us.
    """
    cost = ring(Collective.ALL_GATHER, Protocol.SIMPLE, 16, 3.2e9, across(2))
    assert cost.seconds == pytest.approx(10263.75e-6, rel=1e-5)


def test_ll_loses_half_of_a_nic_to_flags():
    """1 rank a domain: 40 GB/s × 1/2 = 20 GB/s. All-gather of 40 MB on 2: 20 MB in 1 ms; one step, a hop of 10 us.

    5 us of launch are 25 % longer with all channels; beyond the first half lines 16 × 2048 B of 20 MB: 0.99836.
    """
    cost = ring(Collective.ALL_GATHER, Protocol.LL, 2, 40e6, across(2, 1))
    assert cost.bandwidth_seconds == pytest.approx(1e-3)
    assert cost.seconds == pytest.approx(6.25e-6 + 10e-6 + 0.9983616e-3, rel=1e-5)
