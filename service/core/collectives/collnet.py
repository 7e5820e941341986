"""CollNet: the network's own switches add (SHARP). It needs a plugin, and NCCL_COLLNET_ENABLE=1."""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.network import hop
from service.core.collectives.path import CollectivePath
from service.errors import UnsupportedCollective


def collnet(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what an all-reduce costs that leaves each domain once and comes back summed.

    .. math:: t = a + 2h + 2l + \max\left(\frac{2 (g-1)}{g} \frac{S}{\eta B}, \frac{S}{g\, B_{NIC}}\right)

    Each GPU collects its share S/g from its domain, sends it up once, whatever the number of domains, and shares the
    sum.

    Parameters
    ----------
    collective : Collective
        all_reduce.
    protocol : Protocol
        Simple.
    num_ranks : int
        n = k g; 1 is free. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        a, h (handshake), eta of the Simple ring; l a hop over the fabric.

    Raises
    ------
    UnsupportedCollective
        If there is no network between domains.

    Assumptions
    -----------
    Domain and network are pipelined. The one public run, 96 H100, reached 387 GB/s of busbw: validation/
    collectives_networked.csv.

    Source
    ------
    Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016; NVIDIA/nccl 5067397c,
    src/device/all_reduce.h, CollNetDirect.
    """
    if num_ranks == 1:
        return FREE
    if path.fabric is None:
        raise UnsupportedCollective("CollNet joins several domains")
    g = path.ranks_per_domain
    wire = 2 * (g - 1) / g * size_bytes
    inside = wire / (path.simple.link_ratio * path.bandwidth_bytes_per_second)
    bandwidth = max(inside, size_bytes / g / path.fabric.payload_bytes_per_second)
    latency = path.simple.launch_seconds + 2 * path.simple.handshake_seconds + 2 * hop(protocol, path, tree=True)
    return CollectiveCost(latency, bandwidth, max(wire, size_bytes / g), 4)


COSTS = {Collective.ALL_REDUCE: collnet}
PROTOCOLS = (Protocol.SIMPLE,)
