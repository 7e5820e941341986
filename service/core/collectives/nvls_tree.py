"""NVLSTree: switches add inside each domain, a tree of the domains adds between them. NCCL's way from two nodes on."""

from __future__ import annotations

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.in_network import nvls_bytes_on_wire, nvls_heads, sustained_rate
from service.core.collectives.network import hop, nic_rate, tree_depth, two_level_nic_bytes
from service.core.collectives.path import CollectivePath
from service.errors import UnsupportedCollective

_STAGES_TO_FILL = 3  # added in the switch, up the tree, down the tree
_BOTH_WAYS_RATIO = 0.93  # of the single-domain rate: the GPU's links carry the network's traffic too
_LARGEST_CHUNK_BYTES = 131072  # of NCCL's NVLSTree (src/enqueue.cc)
_FEW_DOMAINS = 4  # from here on NCCL halves the chunk
# Chunk sizes, and how many rounds of them a buffer must hold for NCCL to use one (src/enqueue.cc, calcCollChunking).
_CHUNK_BYTES = ((131072, 4), (65536, 1))


def nvls_tree_chunk_bytes(size_bytes: float, channels: int, path: CollectivePath) -> int:
    """Return the chunk one channel moves for one head in a round.

    Parameters
    ----------
    size_bytes : float
        S. [B]
    channels : int
        NVLS channels. [-]
    path : CollectivePath
        g ranks a domain, k domains.

    Source
    ------
    NVIDIA/nccl 5067397c, src/enqueue.cc, calcCollChunking, NCCL_ALGO_NVLS_TREE.
    """
    lanes = channels * nvls_heads(path.ranks_per_domain)
    chunk = _LARGEST_CHUNK_BYTES if path.num_domains < _FEW_DOMAINS else _LARGEST_CHUNK_BYTES // 2
    for larger, rounds in _CHUNK_BYTES:
        if chunk == larger and size_bytes < rounds * lanes * larger:
            chunk = larger // 2
    return chunk


def nvls_tree(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what an all-reduce over switches and a tree between domains costs.

    .. math:: t = a + \left(\frac{S}{c h q} + 3\right) \max\left(\tau_{NVLS}, \tau_{NIC}\right) + 2 d\, l

    A round moves one chunk q for each channel c and head h: through the switch as in `in_network`, and
    :math:`2 (k-1)/k` of a GPU's share of it through its NIC. d is the depth of the tree, l a hop over the network.

    Parameters
    ----------
    collective : Collective
        all_reduce.
    protocol : Protocol
        Simple; NCCL has no other.
    num_ranks : int
        n = k g. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        Domain and fabric.

    Raises
    ------
    UnsupportedCollective
        If the domains have no in-switch reduction, or there is one only.

    Source
    ------
    NVIDIA/nccl 5067397c, src/device/all_reduce.h (RunWorkColl NVLS_TREE). Constants: hardware_catalog/calibrations.
    """
    if num_ranks == 1:
        return FREE
    if path.nvls is None or path.fabric is None:
        raise UnsupportedCollective("NVLSTree needs several domains whose switches add")
    constants, g = path.nvls, path.ranks_per_domain
    lane_bytes = constants.channels * nvls_heads(g) * nvls_tree_chunk_bytes(size_bytes, constants.channels, path)
    wire = nvls_bytes_on_wire(g, lane_bytes)
    sustained = sustained_rate(constants, g, path.bandwidth_bytes_per_second)
    paced = constants.round_seconds + wire / constants.round_bandwidth_bytes_per_second
    in_switch = max(paced, wire / sustained) / _BOTH_WAYS_RATIO
    through_nic = two_level_nic_bytes(collective, lane_bytes, path) / nic_rate(protocol, path)
    rounds = size_bytes / lane_bytes
    network = 2 * tree_depth(path) * hop(protocol, path, tree=True)
    total = constants.launch_seconds + (rounds + _STAGES_TO_FILL) * max(in_switch, through_nic) + network
    wire_bytes = nvls_bytes_on_wire(g, size_bytes)
    bandwidth = max(
        wire_bytes / sustained, two_level_nic_bytes(collective, size_bytes, path) / nic_rate(protocol, path)
    )
    return CollectiveCost(total - bandwidth, bandwidth, wire_bytes, _STAGES_TO_FILL + 2 * tree_depth(path))


COSTS = {Collective.ALL_REDUCE: nvls_tree}
PROTOCOLS = (Protocol.SIMPLE,)
