"""Symmetric memory: kernels that read and write the peers' registered buffers themselves (NCCL 2.27 and later)."""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.in_network import nvls_bytes_on_wire, sustained_rate
from service.core.collectives.path import CollectivePath
from service.errors import UnsupportedCollective


def symmetric(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what a kernel on symmetric windows costs: one launch, and the bytes once.

    .. math:: t = a + \frac{w}{B}

    w by protocol and collective, with m = S (all-reduce) or S/n (all-gather, reduce-scatter):

    - LL sends m with its flags to every peer: 2 (n-1) m; each adds by itself.
    - Simple all-reduce adds in the switch and multicasts: S (1 + 1/n); without such a switch 2 (n-1)/n S.
    - Simple all-gather and reduce-scatter: (n-1)/n S.

    Parameters
    ----------
    collective : Collective
        all_reduce, all_gather or reduce_scatter.
    protocol : Protocol
        LL or Simple.
    num_ranks : int
        n, all in one domain; 1 is free. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        a from its `symmetric`; B the ring's share of the link, or what the switch sustains.

    Raises
    ------
    UnsupportedCollective
        If the generation has none.

    Assumptions
    -----------
    No public table shows these kernels: latencies are those of NCCL's own model, rates those of the calibrated paths.

    Source
    ------
    NVIDIA/nccl 5067397c, src/sym_kernels.cc: the kernels and their latencies.
    """
    if num_ranks == 1:
        return FREE
    constants = path.symmetric
    if constants is None:
        raise UnsupportedCollective("no symmetric kernels on this path")
    link = path.bandwidth_bytes_per_second
    share = (num_ranks - 1) / num_ranks * size_bytes
    reduces = collective is Collective.ALL_REDUCE
    rate = path.simple.link_ratio * link
    if protocol is Protocol.LL:
        own = size_bytes if reduces else size_bytes / num_ranks
        gathers = collective is Collective.ALL_GATHER
        latency = constants.ll_gather_seconds if gathers else constants.ll_seconds
        wire = 2 * (num_ranks - 1) * own
    elif reduces and path.nvls is not None:
        latency, wire = constants.reduce_seconds, nvls_bytes_on_wire(num_ranks, size_bytes)
        rate = sustained_rate(path.nvls, num_ranks, link)
    else:
        latency = constants.reduce_seconds if reduces else constants.share_seconds
        wire = 2 * share if reduces else share
    return CollectiveCost(latency, wire / rate, wire, 1)


COSTS = {
    Collective.ALL_REDUCE: symmetric,
    Collective.ALL_GATHER: symmetric,
    Collective.REDUCE_SCATTER: symmetric,
}
PROTOCOLS = (Protocol.LL, Protocol.SIMPLE)
