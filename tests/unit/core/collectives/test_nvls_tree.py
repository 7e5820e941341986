"""NVLSTree, by hand on round constants."""

import dataclasses

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.nvls_tree import nvls_tree, nvls_tree_chunk_bytes
from service.errors import UnsupportedCollective
from tests.collective_paths import across, within


@pytest.mark.parametrize(
    ("num_domains", "size_bytes", "chunk"),
    [
        (2, 1 << 30, 131072),
        (2, (64 << 20) - 1, 65536),  # under 4 rounds of 128 lanes × 128 KiB
        (2, (8 << 20) - 1, 32768),  # under one round of 64 KiB
        (4, 1 << 30, 65536),  # NCCL halves the largest from four nodes on
    ],
)
def test_chunks_by_ncclss_thresholds(num_domains, size_bytes, chunk):
    """16 channels × 8 heads = 128 lanes."""
    assert nvls_tree_chunk_bytes(size_bytes, 16, across(num_domains)) == chunk


def test_two_nodes_bound_by_their_switches():
    """1 GiB on 2 × 8: 64 rounds of 16 MiB, 3 to fill. Switch: 18874368 B at 300 GB/s = 62.915 us, / 0.93 = 67.65 us.

    NIC: 2 × 1/2 × 2 MiB / 40 GB/s = 52.4 us. 5 us + 67 × 67.65 + 2 hops of 10 us = 4557.5 us.
    """
    cost = nvls_tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 16, 1 << 30, across(2))
    assert cost.seconds == pytest.approx(5e-6 + 67 * 62.91456e-6 / 0.93 + 20e-6, rel=1e-6)
    assert cost.steps == 5


def test_slow_nics_bind():
    """NICs of a quarter: 209.7 us a round."""
    path = across(2)
    slow = dataclasses.replace(path, fabric=dataclasses.replace(path.fabric, line_bytes_per_second=12.5e9))
    cost = nvls_tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 16, 1 << 30, slow)
    assert cost.seconds == pytest.approx(5e-6 + 67 * 2097152 / 10e9 + 20e-6, rel=1e-6)


@pytest.mark.parametrize("path", [within(8), across(2, nvls=None)])
def test_it_needs_switches_and_several_domains(path):
    with pytest.raises(UnsupportedCollective):
        nvls_tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 16, 1e9, path)


def test_one_rank_is_free():
    assert nvls_tree(Collective.ALL_REDUCE, Protocol.SIMPLE, 1, 1e9, within(1)).seconds == 0.0
