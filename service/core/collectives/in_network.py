"""NVLS: the NVSwitch adds. Each GPU sends its vector once and gets the sum once."""

from __future__ import annotations

import math

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.path import CollectivePath, NvlsConstants
from service.errors import UnsupportedCollective

_STAGES_TO_FILL = 2  # a chunk is pushed, added in the switch and pulled: two rounds pass before the first is out
# Chunk sizes, and how many rounds of them a buffer must hold for NCCL to use one (src/enqueue.cc, calcCollChunking).
_CHUNK_BYTES = ((131072, 64), (65536, 8), (32768, 2))
_SMALLEST_CHUNK_BYTES = 16384
_MAX_HEADS = 32
_MEASURED_ON = 8  # GPUs that the switch's share of the link was taken on


def nvls_heads(num_ranks: int) -> int:
    """Return how many GPUs own a share of the sums: all of them, up to NCCL's limit.

    Parameters
    ----------
    num_ranks : int
        n. [-]

    Source
    ------
    NVIDIA/nccl 5067397c, src/transport/nvls.cc: at most 32 heads.
    """
    return min(num_ranks, _MAX_HEADS)


def nvls_chunk_bytes(size_bytes: float, channels: int, num_ranks: int) -> int:
    """Return the chunk one channel moves for one head in a round.

    Parameters
    ----------
    size_bytes : float
        S. [B]
    channels : int
        NVLS channels. [-]
    num_ranks : int
        n. [-]

    Source
    ------
    NVIDIA/nccl 5067397c, src/enqueue.cc, calcCollChunking: thresholds of 64, 8 and 2 rounds.
    """
    lanes = channels * nvls_heads(num_ranks)
    chunk = _CHUNK_BYTES[0][0]
    for larger, rounds in _CHUNK_BYTES:
        if chunk == larger and size_bytes < rounds * lanes * larger:
            chunk = larger // 2
    return max(chunk, _SMALLEST_CHUNK_BYTES)


def nvls_bytes_on_wire(num_ranks: int, size_bytes: float) -> float:
    """Return what each GPU sends, and gets: S (1 + 1/h), its vector and its share of the sums.

    Parameters
    ----------
    num_ranks : int
        n, of which h = `nvls_heads` own a share. [-]
    size_bytes : float
        S. [B]

    Source
    ------
    Klenk et al., "An In-Network Architecture for Accelerating Shared-Memory Multiprocessor Collectives", ISCA 2020,
    section 4: reads of every copy through the switch, then a multicast write of the owner's share.
    """
    return size_bytes * (1.0 + 1.0 / nvls_heads(num_ranks))


def nvls(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what an in-switch all-reduce costs: rounds of one chunk a lane, two more to fill the pipe.

    .. math:: t = a + \left(\frac{S}{c h q} + 2\right)
                  \max\left(r + \frac{c h q (1 + 1/h)}{B}, \frac{c h q (1 + 1/h)}{\eta B_{link}}\right)

    Parameters
    ----------
    collective : Collective
        all_reduce.
    protocol : Protocol
        Simple; NVLS has no other.
    num_ranks : int
        n, of which h own a share of the sums; 1 is free. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        a, c (channels), r, B, eta; q from `nvls_chunk_bytes`.

    Raises
    ------
    UnsupportedCollective
        If the domain has no in-switch reduction.

    Source
    ------
    Chunks: NVIDIA/nccl 5067397c, src/enqueue.cc. Constants: hardware_catalog/calibrations.
    """
    if num_ranks == 1:
        return FREE
    if path.nvls is None:
        raise UnsupportedCollective("the switch of this domain cannot add")
    constants = path.nvls
    sustained = sustained_rate(constants, num_ranks, path.bandwidth_bytes_per_second)
    lanes = constants.channels * nvls_heads(num_ranks)
    chunk_bytes = nvls_chunk_bytes(size_bytes, constants.channels, num_ranks)
    rounds = size_bytes / (lanes * chunk_bytes)
    round_wire_bytes = nvls_bytes_on_wire(num_ranks, lanes * chunk_bytes)
    paced = constants.round_seconds + round_wire_bytes / constants.round_bandwidth_bytes_per_second
    total = constants.launch_seconds + (rounds + _STAGES_TO_FILL) * max(paced, round_wire_bytes / sustained)
    wire_bytes = nvls_bytes_on_wire(num_ranks, size_bytes)
    bandwidth = wire_bytes / sustained
    return CollectiveCost(total - bandwidth, bandwidth, wire_bytes, _STAGES_TO_FILL)


def sustained_rate(constants: NvlsConstants, num_ranks: int, link_bytes_per_second: float) -> float:
    """Return the rate that the switch sustains for one GPU, one direction.

    Parameters
    ----------
    constants : NvlsConstants
        The share of the link for 8 GPUs, and what each doubling past them takes off.
    num_ranks : int
        GPUs of one domain. [-]
    link_bytes_per_second : float
        One GPU's links, one direction. [B/s]

    Source
    ------
    Empirical: 8 and 72 GPUs of GB200 racks, validation/collectives_public.csv.
    """
    doublings = math.log2(num_ranks / _MEASURED_ON) if num_ranks > _MEASURED_ON else 0.0
    return (constants.link_ratio - doublings * constants.link_ratio_per_doubling) * link_bytes_per_second


def head_speed(constants: NvlsConstants, num_ranks: int, link_bytes_per_second: float) -> float:
    """Return the rate that NCCL's search gives one NVLS head: the highest that fits the link once a head.

    Parameters
    ----------
    constants : NvlsConstants
        The rates it tries.
    num_ranks : int
        Their heads share each GPU's links. [-]
    link_bytes_per_second : float
        As the tuner believes it. [B/s]

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/search.cc, speedArrayIntra tables and ncclTopoSearchRecNvls.
    """
    heads = nvls_heads(num_ranks)
    fitting = [s for s in constants.head_speeds_bytes_per_second if s * heads <= link_bytes_per_second]
    return max(fitting) if fitting else link_bytes_per_second / heads


COSTS = {Collective.ALL_REDUCE: nvls}
PROTOCOLS = (Protocol.SIMPLE,)
