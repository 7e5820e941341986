"""What crossing from one scale-up domain to another costs: hops, bytes through a NIC, and protocols over it."""

from __future__ import annotations

import math

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.path import CollectivePath

# Share of the payload rate that a protocol's data has: LL sends a flag with every word, LL128 one in 16.
_DATA_RATIO = {Protocol.LL: 0.5, Protocol.LL128: 120 / 128, Protocol.SIMPLE: 1.0}
# A network hop of LL128 against one of LL, ring and tree: NCCL's own constants, 4.0 / 2.7 and 8.5 / 5.0 us.
_RING_LL128_HOP = 4.0 / 2.7
_TREE_LL128_HOP = 8.5 / 5.0


def nic_rate(protocol: Protocol, path: CollectivePath) -> float:
    """Return the rate of a protocol's data through one GPU's share of the NICs; infinite inside a domain.

    Parameters
    ----------
    protocol : Protocol
        LL halves it, LL128 takes 8 of 128 bytes. [-]
    path : CollectivePath
        Its fabric.

    Source
    ------
    NVIDIA/nccl 5067397c, src/device/prims_ll.h, prims_ll128.h.
    """
    return math.inf if path.fabric is None else path.fabric.payload_bytes_per_second * _DATA_RATIO[protocol]


def hop(protocol: Protocol, path: CollectivePath, *, tree: bool) -> float:
    """Return the time of one hop over the network; 0 inside a domain. [s]

    Parameters
    ----------
    protocol : Protocol
        LL128 waits for a whole line.
    path : CollectivePath
        Its fabric's hop is that of LL.
    tree : bool
        A tree's hop or a ring's.

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/tuning.cc, hwLatencies: the ratios; the fabric's own hop is calibrated.
    """
    if path.fabric is None:
        return 0.0
    ratio = (_TREE_LL128_HOP if tree else _RING_LL128_HOP) if protocol is Protocol.LL128 else 1.0
    return path.fabric.hop_seconds * ratio


def ring_crossings(steps: int, path: CollectivePath) -> float:
    """Return how many of a ring's steps cross from domain to domain: k of its n edges do.

    Parameters
    ----------
    steps : int
        Dependent steps. [-]
    path : CollectivePath
        k and g.

    Source
    ------
    Definition: NCCL's ring visits all ranks of a domain before it leaves it, on a NIC of its own each channel.
    """
    return 0.0 if path.num_domains == 1 else steps / path.ranks_per_domain


def tree_depth(path: CollectivePath) -> int:
    """Return the hops over the network from the lowest domain to the root.

    Parameters
    ----------
    path : CollectivePath
        k domains. [-]

    Source
    ------
    Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
    Computing 35 (2009): a double binary tree; NVIDIA/nccl 5067397c, src/graph/trees.cc.
    """
    return path.num_domains.bit_length() - 1


def two_level_nic_bytes(collective: Collective, size_bytes: float, path: CollectivePath) -> float:
    r"""Return what passes one GPU's share of the NICs, one direction, when domains reduce first: each GPU owns S/g.

    .. math:: 2 \frac{k-1}{k} \frac{S}{g}

    Parameters
    ----------
    collective : Collective
        all_reduce; half of it for all_gather and reduce_scatter.
    size_bytes : float
        S. [B]
    path : CollectivePath
        k domains of g ranks.

    Source
    ------
    Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
    applied to each GPU's share.
    """
    k = path.num_domains
    ways = 2 if collective is Collective.ALL_REDUCE else 1
    return ways * (k - 1) / k * size_bytes / path.ranks_per_domain


def tapered_seconds(chunk_bytes: float, num_ranks: int, path: CollectivePath) -> float:
    r"""Return what the tapered spine takes for an all-to-all's chunks to the ranks of other pods; 0 where none taper.

    .. math:: \frac{(n - p)\, m\, r}{B_{NIC}}

    Only exchanges of all with all feel it: a ring or a tree crosses from pod to pod on a few of its edges.

    Parameters
    ----------
    chunk_bytes : float
        m, for one peer. [B]
    num_ranks : int
        n, of which p share a pod. [-]
    path : CollectivePath
        Its fabric's pod and taper r.

    Source
    ------
    Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008, section 2.1:
    oversubscription.
    """
    fabric = path.fabric
    if fabric is None or fabric.pod_ranks is None or num_ranks <= fabric.pod_ranks:
        return 0.0
    return (num_ranks - fabric.pod_ranks) * chunk_bytes * fabric.taper_ratio / fabric.payload_bytes_per_second


def ideal_rate(collective: Collective, path: CollectivePath) -> float:
    r"""Return the bus bandwidth that line rates allow: the textbook bound, which nothing reaches.

    A ring leaves a domain by all its NICs at once; what leaves in an all-to-all uses one GPU's share of them:

    .. math:: \min(B, g B_{NIC}), \quad \min\left(B \frac{n-1}{g-1}, B_{NIC} \frac{n-1}{n-g}\right)

    Parameters
    ----------
    collective : Collective
        all_to_all and send_recv, or any other.
    path : CollectivePath
        The links of one GPU and its share of the NICs, one direction. [B/s]

    Source
    ------
    NVIDIA/nccl-tests, doc/PERFORMANCE.md; issues 130 and 267 for all-to-all between nodes.
    """
    link = path.bandwidth_bytes_per_second
    if path.fabric is None:
        return link
    nic, g = path.fabric.line_bytes_per_second, path.ranks_per_domain
    n = g * path.num_domains
    if collective is Collective.SEND_RECV:
        return min(link, nic)
    if collective is not Collective.ALL_TO_ALL:
        return min(link, g * nic)
    leaving = nic * (n - 1) / (n - g)
    return leaving if g == 1 else min(link * (n - 1) / (g - 1), leaving)
