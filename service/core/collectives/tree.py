"""The tree: sums go up to a root and down again. NCCL's other way for all-reduce, better with many nodes.

Inside one domain NCCL's tree is a chain of the ranks, up and down: 2(n-1) hops, and every rank's link carries
the whole vector once each way.
"""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.path import CollectivePath


def tree(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what an all-reduce over NCCL's intra-domain chain costs.

    .. math:: t = a + 2(n-1)h + \frac{2S}{\eta B}

    Parameters
    ----------
    collective : Collective
        all_reduce; NCCL has no other tree.
    protocol : Protocol
        Whose hop and rate.
    num_ranks : int
        n; 1 is free. [-]
    size_bytes : float
        S: the vector, which passes each link once up and once down. [B]
    path : CollectivePath
        Constants of the ring's protocols; the share of the rate a tree reaches is the tuner's.

    Assumptions
    -----------
    Unvalidated: NCCL does not choose it inside one domain, so no public table shows it there.

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/connect.cc, src/graph/tuning.cc (0.92, and 0.85 for the plain tree pattern).
    """
    if num_ranks == 1:
        return FREE
    steps = 2 * (num_ranks - 1)
    if protocol is Protocol.SIMPLE:
        hops = path.simple.launch_seconds + steps * path.simple.handshake_seconds
        rate = path.simple.link_ratio * path.bandwidth_bytes_per_second
    else:
        constants = path.ll if protocol is Protocol.LL else path.ll128
        hops = constants.launch_seconds + steps * constants.hop_seconds
        rate = min(constants.bandwidth_bytes_per_second, path.bandwidth_bytes_per_second)
    wire_bytes = 2.0 * size_bytes if num_ranks > 2 else size_bytes
    bandwidth = wire_bytes / (path.tuning.tree_ratio * rate)
    return CollectiveCost(hops, bandwidth, wire_bytes, steps)


COSTS = {Collective.ALL_REDUCE: tree}
PROTOCOLS = (Protocol.LL, Protocol.LL128, Protocol.SIMPLE)
