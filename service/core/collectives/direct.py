"""Direct: every rank talks to every peer at once. NCCL's all-to-all and send/recv are made of it."""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol, smooth_maximum
from service.core.collectives.network import hop, nic_rate, tapered_seconds
from service.core.collectives.path import CollectivePath


def direct(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what a grouped point-to-point exchange costs.

    .. math:: t = \left((a + \min(m/B_{LL}, h))^p + \left(\frac{r\, m}{\eta B} + \frac{m}{C}\right)^p\right)^{1/p}

    with m the chunk for one peer and r the peers in the domain: all-to-all has m = S/n and r = g-1, send/recv m = S
    and r = 1. What goes to the n-g ranks of other domains passes one GPU's share of the NICs, and no more than that:

    .. math:: t \ge \frac{(n-g) m}{B_{NIC}} + l

    Parameters
    ----------
    collective : Collective
        all_to_all or send_recv.
    protocol : Protocol
        Simple. NCCL falls to LL by itself for small chunks, which is in the law.
    num_ranks : int
        n; 1 is free. [-]
    size_bytes : float
        S: all that one rank sends, its own chunk included (all-to-all). [B]
    path : CollectivePath
        a, B_LL, h, eta, C, p.

    Source
    ------
    NVIDIA/nccl 5067397c, src/enqueue.cc (p2p channels, NCCL_P2P_LL_THRESHOLD).
    Constants: hardware_catalog/calibrations.
    """
    if num_ranks == 1:
        return FREE
    to_all = collective is Collective.ALL_TO_ALL
    chunk_bytes = size_bytes / num_ranks if to_all else size_bytes
    far_peers = num_ranks - path.ranks_per_domain if to_all else int(path.num_domains > 1)
    near_peers = (num_ranks - 1 if to_all else 1) - far_peers
    constants = path.direct
    low_latency = chunk_bytes / constants.low_latency_bytes_per_second
    latency = constants.launch_seconds + min(low_latency, constants.handshake_seconds)
    own_copy = chunk_bytes / constants.copy_bytes_per_second if to_all else 0.0
    near = near_peers * chunk_bytes / (constants.link_ratio * path.bandwidth_bytes_per_second)
    far = far_peers * chunk_bytes / nic_rate(protocol, path)
    bandwidth = max(near, far, tapered_seconds(chunk_bytes, num_ranks, path) if to_all else 0.0)
    network = hop(protocol, path, tree=False) if far_peers else 0.0
    total = smooth_maximum(latency + network, bandwidth + own_copy, constants.sharpness)
    return CollectiveCost(total - bandwidth, bandwidth, (near_peers + far_peers) * chunk_bytes, 1)


COSTS = {Collective.ALL_TO_ALL: direct, Collective.SEND_RECV: direct}
PROTOCOLS = (Protocol.SIMPLE,)
