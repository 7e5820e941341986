"""Copy engines: the GPU's DMA units move registered buffers, and no SM takes part (NCCL 2.28 and later)."""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.path import CollectivePath

# nvbandwidth between two H200, device to device by copy engine: 396 of 450 GB/s (stas00/ml-engineering 744d01e1).
_ENGINE_LINK_RATIO = 396 / 450


def copy_engine(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what copies by DMA cost: a barrier before, one copy a peer, a barrier after.

    .. math:: t = 2 a + \frac{(n-1)\,S}{n\,\eta B}

    Parameters
    ----------
    collective : Collective
        all_gather or all_to_all: nothing is added on the way.
    protocol : Protocol
        Simple.
    num_ranks : int
        n, all in one domain; 1 is free. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        a is the launch of its point-to-point path, B its links.

    Assumptions
    -----------
    The barriers are two small kernels; no public table shows them, nor the engines' rate with all peers at once.

    Source
    ------
    NVIDIA/nccl 5067397c, src/ce_coll.cc. The engines' rate between two GPUs: nvbandwidth on H200.
    """
    if num_ranks == 1:
        return FREE
    wire = (num_ranks - 1) / num_ranks * size_bytes
    rate = _ENGINE_LINK_RATIO * path.bandwidth_bytes_per_second
    return CollectiveCost(2 * path.direct.launch_seconds, wire / rate, wire, num_ranks - 1)


COSTS = {Collective.ALL_GATHER: copy_engine, Collective.ALL_TO_ALL: copy_engine}
PROTOCOLS = (Protocol.SIMPLE,)
