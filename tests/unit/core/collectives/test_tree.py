"""NCCL's tree, by hand on round constants."""

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.tree import tree
from tests.collective_paths import across, within


def test_simple_tree_in_one_domain_is_a_chain_up_and_down():
    """4 ranks: 10 + 6 × 5 = 40 us of hops; 2 × 3 GB / 300 GB/s = 20 ms; NCCL gives a tree all of that at 3 GB."""
    cost = tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 4, 3e9, within(4))
    assert cost.latency_seconds == pytest.approx(40e-6)
    assert cost.bandwidth_seconds == pytest.approx(20e-3)
    assert cost.bytes_on_wire_per_gpu == 6e9


def test_ll_tree_over_two_domains():
    """16 ranks in 2 domains: 5 + 14 × 1 + 2 hops of 10 us = 39 us. 1 KiB is nothing beside it."""
    cost = tree(Collective.ALL_REDUCE, Protocol.LL, 16, 1024, across(2))
    assert cost.seconds == pytest.approx(39e-6, rel=0.01)
    assert cost.steps == 16


def test_ll128_waits_for_a_line_on_the_network():
    """NCCL's 8.5 over 5.0 us: 10 + 14 × 2 + 2 × 17 = 72 us."""
    assert tree(Collective.ALL_REDUCE, Protocol.LL128, 16, 64, across(2)).seconds == pytest.approx(72e-6, rel=0.01)


def test_depth_grows_with_the_logarithm_of_the_domains():
    """64 domains: 2 × 6 hops of 10 us, not 2 × 1."""
    small = [tree(Collective.ALL_REDUCE, Protocol.LL, 8 * k, 64, across(k)).seconds for k in (2, 64)]
    assert small[1] - small[0] == pytest.approx(100e-6)


def test_slow_nics_bound_it():
    """8 GB on 4 domains of 8 with NICs of 40 GB/s: 2 × 3/4 × 1 GB / 40 GB/s = 37.5 ms; the chain alone takes 53 ms.

    With a twentieth of the NICs 750 ms.
    """
    import dataclasses

    path = across(4)
    slow = dataclasses.replace(path, fabric=dataclasses.replace(path.fabric, line_bytes_per_second=2.5e9))
    assert tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 32, 8e9, path).bandwidth_seconds == pytest.approx(16e9 / 300e9)
    assert tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 32, 8e9, slow).bandwidth_seconds == pytest.approx(0.75)


def test_one_rank_is_free():
    assert tree(Collective.ALL_REDUCE, Protocol.LL, 1, 1e6, within(1)).seconds == 0.0
