"""The tree: sums go up to a root and down again. NCCL's other way for all-reduce, better with many nodes.

Inside a domain NCCL's tree is a chain of its ranks, up and down: 2(g-1) hops, and every rank's link carries the whole
vector once each way. Between domains it is a double binary tree.
"""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.nccl_selection import tree_busbw, tree_size_correction
from service.core.collectives.network import hop, nic_rate, tree_depth, two_level_nic_bytes
from service.core.collectives.path import CollectivePath


def tree(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what an all-reduce over NCCL's chains and double binary tree costs.

    .. math:: t = a + 2(g-1)h + 2 d\, l + \max\left(\frac{2 S}{c B}, \frac{2 (k-1)}{k} \frac{S}{g B_{NIC}}\right)

    with d the depth of the tree between domains, l a hop over the network, and c NCCL's correction by size.

    Parameters
    ----------
    collective : Collective
        all_reduce; NCCL has no other tree.
    protocol : Protocol
        Whose hop and rate.
    num_ranks : int
        n; 1 is free. [-]
    size_bytes : float
        S: the vector, which passes each link of a domain's chain once up and once down. [B]
    path : CollectivePath
        Hops are those of the ring's protocols; rates of LL and LL128 are the tuner's, that of Simple the ring's.

    Assumptions
    -----------
    Unvalidated inside one domain: NCCL does not choose it there, so no public table shows it.

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/connect.cc, src/graph/tuning.cc.
    """
    if num_ranks == 1:
        return FREE
    chain = 2 * (path.ranks_per_domain - 1)
    depth = 2 * tree_depth(path)
    network = depth * hop(protocol, path, tree=True)
    wire_bytes = 2.0 * size_bytes if num_ranks > 2 else size_bytes
    correction = tree_size_correction(protocol, size_bytes)
    if protocol is Protocol.SIMPLE:
        hops = path.simple.launch_seconds + chain * path.simple.handshake_seconds + network
        rate = path.simple.link_ratio * path.bandwidth_bytes_per_second
    else:
        constants = path.ll if protocol is Protocol.LL else path.ll128
        hops = constants.launch_seconds + chain * constants.hop_seconds + network
        rate = min(tree_busbw(protocol, path), path.bandwidth_bytes_per_second)
    through_nic = two_level_nic_bytes(collective, size_bytes, path) / nic_rate(protocol, path)
    bandwidth = max(wire_bytes / rate, through_nic)
    slowed = max(wire_bytes / (rate * correction), through_nic)
    return CollectiveCost(hops + slowed - bandwidth, bandwidth, wire_bytes, chain + depth)


COSTS = {Collective.ALL_REDUCE: tree}
PROTOCOLS = (Protocol.LL, Protocol.LL128, Protocol.SIMPLE)
