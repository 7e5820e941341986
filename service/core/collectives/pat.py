"""PAT: parallel aggregated trees, NCCL's way for all-gather and reduce-scatter with one rank a domain (from 2.23)."""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.network import hop
from service.core.collectives.path import CollectivePath
from service.errors import UnsupportedCollective


def pat(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what a Bruck-like exchange costs: the ring's bytes in a logarithm of its steps.

    .. math:: t = a + \lceil \log_2 n \rceil\, l + \frac{n-1}{n} \frac{S}{B_{NIC}}

    Parameters
    ----------
    collective : Collective
        all_gather or reduce_scatter.
    protocol : Protocol
        Simple.
    num_ranks : int
        n, one a domain; 1 is free. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        a of the Simple ring; l a hop over the fabric.

    Raises
    ------
    UnsupportedCollective
        If there is no network between the ranks.

    Assumptions
    -----------
    Unvalidated: no public table shows it.

    Source
    ------
    Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025, section 3.
    """
    if num_ranks == 1:
        return FREE
    if path.fabric is None:
        raise UnsupportedCollective("PAT joins ranks over a network")
    steps = (num_ranks - 1).bit_length()
    wire = (num_ranks - 1) / num_ranks * size_bytes
    latency = path.simple.launch_seconds + steps * hop(protocol, path, tree=True)
    return CollectiveCost(latency, wire / path.fabric.payload_bytes_per_second, wire, steps)


COSTS = {Collective.ALL_GATHER: pat, Collective.REDUCE_SCATTER: pat}
PROTOCOLS = (Protocol.SIMPLE,)
