"""Crossing from domain to domain, by hand: NICs of 50 GB/s that give 40, a hop of 10 us."""

import dataclasses
import math

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.network import (
    hop,
    ideal_rate,
    nic_rate,
    ring_crossings,
    tapered_seconds,
    tree_depth,
    two_level_nic_bytes,
)
from tests.collective_paths import across, within


def test_a_protocols_flags_take_their_share_of_the_nic():
    """40 GB/s: LL has half, LL128 120 of 128 bytes."""
    rates = [nic_rate(p, across(2)) for p in (Protocol.SIMPLE, Protocol.LL, Protocol.LL128)]
    assert rates == [40e9, 20e9, 37.5e9]


def test_inside_a_domain_no_nic_binds_and_no_hop_is_paid():
    assert math.isinf(nic_rate(Protocol.SIMPLE, within(8)))
    assert hop(Protocol.LL, within(8), tree=True) == 0.0
    assert ring_crossings(14, within(8)) == 0.0


def test_ll128_hops_are_longer_by_nccls_ratios():
    """10 us × 8.5 / 5.0 in a tree, × 4.0 / 2.7 in a ring."""
    assert hop(Protocol.LL128, across(2), tree=True) == pytest.approx(17e-6)
    assert hop(Protocol.LL128, across(2), tree=False) == pytest.approx(14.8148e-6, rel=1e-4)
    assert hop(Protocol.SIMPLE, across(2), tree=True) == 10e-6


def test_k_of_the_n_edges_of_a_ring_cross():
    """16 ranks in 2 domains: 30 steps cross 30 × 2/16 = 3.75 times."""
    assert ring_crossings(30, across(2)) == 3.75


@pytest.mark.parametrize(("num_domains", "depth"), [(1, 0), (2, 1), (3, 1), (4, 2), (360, 8)])
def test_depth_of_the_double_tree(num_domains, depth):
    assert tree_depth(across(num_domains) if num_domains > 1 else within(8)) == depth


def test_bytes_through_a_nic_when_domains_add_first():
    """8 GB over 4 domains of 8: 2 × 3/4 × 1 GB = 1.5 GB; half of it one way."""
    assert two_level_nic_bytes(Collective.ALL_REDUCE, 8e9, across(4)) == 1.5e9
    assert two_level_nic_bytes(Collective.ALL_GATHER, 8e9, across(4)) == 0.75e9


def test_bounds_at_line_rate():
    """Links 400 GB/s, NICs 50. A ring leaves by eight: 400. All-to-all over 2 domains: 50 × 15/8 = 93.75 GB/s.

    One rank a domain has one NIC; send/recv too.
    """
    assert ideal_rate(Collective.ALL_REDUCE, across(2)) == 400e9
    assert ideal_rate(Collective.ALL_REDUCE, across(2, 4)) == 200e9
    assert ideal_rate(Collective.ALL_TO_ALL, across(2)) == 93.75e9
    assert ideal_rate(Collective.ALL_TO_ALL, across(4, 1)) == 50e9
    assert ideal_rate(Collective.SEND_RECV, across(2)) == 50e9
    assert ideal_rate(Collective.ALL_TO_ALL, within(8)) == 400e9


def test_a_tapered_spine_holds_up_what_leaves_the_pod():
    """32 ranks, pods of 8 on a spine of 1:7: 24 chunks of 1 MB share a seventh of 40 GB/s: 24 × 7 / 40e3 = 4.2 ms."""
    path = across(4)
    tapered = dataclasses.replace(path, fabric=dataclasses.replace(path.fabric, pod_ranks=8, taper_ratio=7.0))
    assert tapered_seconds(1e6, 32, tapered) == pytest.approx(4.2e-3)
    assert tapered_seconds(1e6, 8, tapered) == 0.0
    assert tapered_seconds(1e6, 32, path) == 0.0
