"""NCCL's intra-domain tree, by hand on round constants."""

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.tree import tree
from tests.collective_paths import ROUND


def test_ll_tree_is_a_chain_up_and_down():
    """8 ranks: 5 + 14 × 1 us of hops; 2 × 1 MB / (0.782 × 100 GB/s) = 25.58 us."""
    cost = tree(Collective.ALL_REDUCE, Protocol.LL, 8, 1e6, ROUND)
    assert cost.latency_seconds == pytest.approx(19e-6)
    assert cost.bandwidth_seconds == pytest.approx(25.575e-6, rel=1e-4)
    assert cost.bytes_on_wire_per_gpu == 2e6


def test_simple_tree_pays_a_handshake_a_hop():
    """4 ranks: 10 + 6 × 5 = 40 us of hops; 2 × 3 GB / (0.782 × 300 GB/s) = 25.575 ms."""
    cost = tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 4, 3e9, ROUND)
    assert cost.latency_seconds == pytest.approx(40e-6)
    assert cost.bandwidth_seconds == pytest.approx(25.575e-3, rel=1e-4)


def test_one_rank_is_free():
    assert tree(Collective.ALL_REDUCE, Protocol.LL, 1, 1e6, ROUND).seconds == 0.0
