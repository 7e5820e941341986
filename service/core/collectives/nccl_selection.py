"""Which way NCCL goes: its own cost model, which ranks the ways well and times them badly.

The times here are what NCCL's tuner believes. They choose; `ring`, `tree`, `in_network` and `direct` time.
"""

from __future__ import annotations

import math

from service.core.collectives.bandwidth import busbw_factor
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.collectives.in_network import head_speed, nvls_heads
from service.core.collectives.network import tree_depth
from service.core.collectives.path import CollectivePath
from service.core.collectives.ring import ring_steps
from service.core.collectives.symmetric import symmetric

_LL_HALF_IS_FLAGS = 0.5
_TREE_LL_RATIO = 1 / 3.8
_TREE_LL128_RATIO = {True: 7 / 9, False: 15 / 16}  # inside one domain, between several
_NOT_RANKED = frozenset({Algorithm.DIRECT, Algorithm.COLLNET, Algorithm.COPY_ENGINE})
_PAT_BUS_RATIO = 0.75
_SIMPLE_POSTS = 3  # messages that Simple posts to the network for each of LL's
_RING_PLATEAU_RATIO = 1.4  # of the latency of a Simple ring all-reduce between domains
_RING_PLATEAU_BYTES = 64  # a channel and rank, from which it holds
# Trees fall short of the model at middle sizes: NCCL's own factors for 64 B, 128 B, ... 256 MiB.
_TREE_CORRECTION = {
    Protocol.LL: (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    Protocol.LL128: (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9),
    Protocol.SIMPLE: (*(0.9,) * 7, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, *(0.9,) * 3),
}


def tuner_seconds(
    collective: Collective,
    algorithm: Algorithm,
    protocol: Protocol,
    num_ranks: int,
    size_bytes: float,
    path: CollectivePath,
) -> float:
    r"""Return what NCCL's tuner believes one way takes.

    .. math:: t = lat + S / bw

    Parameters
    ----------
    collective : Collective
        The operation.
    algorithm : Algorithm
        ring, tree, nvls, nvls_tree or direct.
    protocol : Protocol
        simple, ll or ll128.
    num_ranks : int
        n > 1. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        Its `tuning` holds NCCL's constants.

    Source
    ------
    NVIDIA/nccl 5067397c (2.30.7), src/graph/tuning.cc, ncclTopoTuneModel and ncclTopoGetAlgoTime.
    """
    if algorithm in _NOT_RANKED:
        return 0.0  # the only way for its collectives, or taken by a setting: nothing to choose
    if algorithm is Algorithm.SYMMETRIC:
        return symmetric(collective, protocol, num_ranks, size_bytes, path).seconds
    if algorithm is Algorithm.PAT:
        return _pat_seconds(num_ranks, size_bytes, path)
    if algorithm in (Algorithm.NVLS, Algorithm.NVLS_TREE):
        return _nvls_seconds(algorithm, num_ranks, size_bytes, path)
    if algorithm is Algorithm.TREE:
        return _tree_seconds(protocol, size_bytes, path)
    return _ring_seconds(collective, protocol, num_ranks, size_bytes, path)


def _ring_seconds(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> float:
    tuning, network = path.tuning, path.tuning.network
    hop = tuning.hop_seconds[Algorithm.RING, protocol]
    one_way = collective in (Collective.BROADCAST, Collective.REDUCE)
    steps = num_ranks if one_way else ring_steps(collective, num_ranks)
    latency = tuning.base_seconds[Algorithm.RING, protocol]
    if network is None:
        latency += steps * hop
    else:
        crossings = path.num_domains if one_way else (path.num_domains - 1) * steps // (num_ranks - 1)
        posts = network.overhead_seconds * (_SIMPLE_POSTS if protocol is Protocol.SIMPLE else 1)
        latency += (steps - crossings) * max(hop, posts) + crossings * network.hop_seconds[Algorithm.RING, protocol]
        if (
            protocol is Protocol.SIMPLE
            and collective is Collective.ALL_REDUCE
            and size_bytes >= _RING_PLATEAU_BYTES * path.max_channels * num_ranks
        ):
            latency *= _RING_PLATEAU_RATIO
    bus = _bus(path)
    if protocol is Protocol.LL:
        cap = tuning.ll_bytes_per_second if network is None else network.ll_bytes_per_second
        bus = min(cap, _LL_HALF_IS_FLAGS * bus)
    elif protocol is Protocol.LL128:
        bus = min(tuning.ll128_ratio * bus, tuning.ll128_bytes_per_second)
    return latency + busbw_factor(collective, num_ranks) * size_bytes / bus


def _bus(path: CollectivePath) -> float:
    """Bus bandwidth as the tuner believes it: the links', and from three domains on that of the NICs."""
    bus = path.tuning.link_bytes_per_second
    if path.fabric is not None and path.tuning.network is not None and path.num_domains > 2:
        nics = path.ranks_per_domain * path.fabric.line_bytes_per_second
        return min(bus, nics * path.tuning.network.nic_ratio)
    return bus


def tree_busbw(protocol: Protocol, path: CollectivePath) -> float:
    """Return the bus bandwidth that NCCL's tuner gives a tree, before its correction by size. [B/s]

    Parameters
    ----------
    protocol : Protocol
        LL and LL128 have less.
    path : CollectivePath
        Its `tuning`.

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/tuning.cc.
    """
    tuning, network = path.tuning, path.tuning.network
    tree = tuning.tree_ratio * _bus(path)
    if network is not None:
        tree = min(tree, network.tree_bytes_per_second)
    if protocol is Protocol.LL:
        return min(
            _TREE_LL_RATIO * tree, tuning.ll_bytes_per_second if network is None else network.ll_bytes_per_second
        )
    if protocol is Protocol.LL128:
        return min(_TREE_LL128_RATIO[network is None] * tree, tuning.ll128_bytes_per_second)
    return tree


def tree_size_correction(protocol: Protocol, size_bytes: float) -> float:
    """Return the share of its bandwidth that a tree reaches at a size, by NCCL's own factors. [-]

    Parameters
    ----------
    protocol : Protocol
        Each has its own row.
    size_bytes : float
        S. [B]

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/tuning.cc, treeCorrectionFactor.
    """
    row = _TREE_CORRECTION[protocol]
    index = int(size_bytes // 64).bit_length() - 1
    return row[max(index, 0)] if index < len(row) else 1.0


def _tree_seconds(protocol: Protocol, size_bytes: float, path: CollectivePath) -> float:
    tuning, network = path.tuning, path.tuning.network
    latency = tuning.base_seconds[Algorithm.TREE, protocol]
    latency += 2 * (path.ranks_per_domain - 1) * tuning.hop_seconds[Algorithm.TREE, protocol]
    if network is not None:
        latency += 2 * tree_depth(path) * network.hop_seconds[Algorithm.TREE, protocol]
    rate = 0.5 * tree_busbw(protocol, path) * tree_size_correction(protocol, size_bytes)
    return latency + size_bytes / rate


def _pat_seconds(num_ranks: int, size_bytes: float, path: CollectivePath) -> float:
    network = path.tuning.network
    if network is None or path.fabric is None:
        return float("inf")
    way = Algorithm.PAT, Protocol.SIMPLE
    hops = math.log2(path.num_domains) * network.hop_seconds[way]
    latency = path.tuning.base_seconds[way] + hops + num_ranks * path.tuning.hop_seconds[way]
    bus = _PAT_BUS_RATIO * min(_bus(path), path.fabric.line_bytes_per_second * network.nic_ratio)
    return latency + size_bytes / bus


def _nvls_seconds(algorithm: Algorithm, num_ranks: int, size_bytes: float, path: CollectivePath) -> float:
    if path.nvls is None:
        return float("inf")
    tuning, network = path.tuning, path.tuning.network
    heads = nvls_heads(path.ranks_per_domain)
    speed = head_speed(path.nvls, path.ranks_per_domain, tuning.link_bytes_per_second)
    head = 2 * speed * tuning.nvls_efficiency_ratio * (heads - 1) / heads
    latency = tuning.hop_seconds[Algorithm.NVLS, Protocol.SIMPLE]
    if algorithm is Algorithm.NVLS_TREE and network is not None and path.fabric is not None:
        head_nics = network.nic_ratio * path.fabric.line_bytes_per_second * path.ranks_per_domain / heads
        cap = network.nvls_tree_channel_bytes_per_second * path.ranks_per_domain / heads
        head = min(head, head_nics * (2 if path.num_domains == 2 else 1), cap)
        latency += 2 * tree_depth(path) * network.hop_seconds[Algorithm.NVLS_TREE, Protocol.SIMPLE]
    return latency + busbw_factor(Collective.ALL_REDUCE, num_ranks) * size_bytes / (heads * head)
