"""NVLS, by hand: chunks by NCCL's thresholds, rounds, and the switch's limit."""

import dataclasses

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.in_network import (
    head_speed,
    nvls,
    nvls_bytes_on_wire,
    nvls_chunk_bytes,
    nvls_heads,
    sustained_rate,
)
from service.errors import UnsupportedCollective
from tests.collective_paths import ROUND


@pytest.mark.parametrize(
    ("size_bytes", "chunk"),
    [
        ((1 << 30) - 1, 65536),  # under 64 rounds of 128 lanes × 128 KiB = 1 GiB
        (1 << 30, 131072),
        ((64 << 20) - 1, 32768),  # under 8 rounds of 64 KiB = 64 MiB
        (64 << 20, 65536),
        ((8 << 20) - 1, 16384),  # under 2 rounds of 32 KiB = 8 MiB
        (8 << 20, 32768),
        (1, 16384),
    ],
)
def test_chunk_grows_with_the_buffer(size_bytes, chunk):
    """16 channels × 8 heads = 128 lanes."""
    assert nvls_chunk_bytes(size_bytes, 16, 8) == chunk


def test_each_gpu_sends_its_vector_and_its_share_of_the_sums():
    """8 GPUs: 1 + 1/8 = 1.125. 72 GPUs have 32 heads: 1 + 1/32."""
    assert nvls_bytes_on_wire(8, 1e9) == pytest.approx(1.125e9)
    assert nvls_heads(72) == 32
    assert nvls_bytes_on_wire(72, 3.2e9) == pytest.approx(3.3e9)


def test_rounds_of_64_kib_chunks():
    """512 MiB on 8: 64 rounds of 128 lanes × 64 KiB, 2 to fill. A round moves 8 MiB × 1.125 = 9437184 B:

    10 us + 9437184 / 400e9 (23.593 us) = 33.593 us, more than 9437184 / 300e9 = 31.457 us. 5 + 66 × 33.593 = 2222.1 us.
    """
    cost = nvls(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 512 << 20, ROUND)
    assert cost.seconds == pytest.approx(2222.1e-6, rel=1e-4)


def test_large_rounds_are_bound_by_the_switch():
    """4 GiB on 8: chunks of 128 KiB, 256 + 2 rounds of 18874368 B: 62.915 us at 300 GB/s beats 57.186 us. 16.237 ms."""
    cost = nvls(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 4 << 30, ROUND)
    assert cost.seconds == pytest.approx(5e-6 + 258 * 62.91456e-6, rel=1e-6)


def test_head_speed_is_the_highest_that_fits():
    """370 / 8 = 46.25, so 40; 370 / 5 = 74, so 60; 370 / 64 fits none, so its share."""
    assert head_speed(ROUND.nvls, 8, 370e9) == 40e9
    assert head_speed(ROUND.nvls, 5, 370e9) == 60e9
    assert head_speed(dataclasses.replace(ROUND.nvls, head_speeds_bytes_per_second=(60e9,)), 8, 370e9) == 46.25e9


def test_a_switch_that_cannot_add_refuses():
    with pytest.raises(UnsupportedCollective):
        nvls(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 1e9, dataclasses.replace(ROUND, nvls=None))


def test_one_rank_is_free():
    assert nvls(Collective.ALL_REDUCE, Protocol.SIMPLE, 1, 1e9, ROUND).seconds == 0.0


def test_a_rack_sustains_less_than_eight():
    """0.75 of 400 GB/s; 32 GPUs are two doublings past 8, each of which takes 0.05: 0.65."""
    constants = dataclasses.replace(ROUND.nvls, link_ratio_per_doubling=0.05)
    assert sustained_rate(constants, 8, 400e9) == pytest.approx(300e9)
    assert sustained_rate(constants, 4, 400e9) == pytest.approx(300e9)
    assert sustained_rate(constants, 32, 400e9) == pytest.approx(260e9)
