"""Which way NCCL goes: its own cost model, which ranks the ways well and times them badly.

The times here are what NCCL's tuner believes. They choose; `ring`, `tree`, `in_network` and `direct` time.
"""

from __future__ import annotations

from service.core.collectives.bandwidth import busbw_factor
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.collectives.in_network import head_speed, nvls_heads
from service.core.collectives.path import CollectivePath, NcclTuning
from service.core.collectives.ring import ring_steps

_LL_HALF_IS_FLAGS = 0.5
_TREE_LL_RATIO = 1 / 3.8
_TREE_LL128_RATIO = 7 / 9


def tuner_seconds(
    collective: Collective,
    algorithm: Algorithm,
    protocol: Protocol,
    num_ranks: int,
    size_bytes: float,
    path: CollectivePath,
) -> float:
    r"""Return what NCCL's tuner believes one way takes inside one domain.

    .. math:: t = lat + S / bw

    Parameters
    ----------
    collective : Collective
        The operation.
    algorithm : Algorithm
        ring, tree, nvls or direct.
    protocol : Protocol
        simple, ll or ll128.
    num_ranks : int
        n > 1. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        Its `tuning` holds NCCL's constants.

    Assumptions
    -----------
    One domain. The tree's correction by size is left out: the tree is the slower of the two at every size here.

    Source
    ------
    NVIDIA/nccl 5067397c (2.30.7), src/graph/tuning.cc, ncclTopoTuneModel.
    """
    tuning = path.tuning
    if algorithm is Algorithm.DIRECT:
        return 0.0  # the only way for its collectives: nothing to choose
    if algorithm is Algorithm.NVLS:
        return _nvls_seconds(num_ranks, size_bytes, path)
    hop = tuning.hop_seconds[algorithm, protocol]
    base = tuning.base_seconds[algorithm, protocol]
    if algorithm is Algorithm.TREE:
        return base + 2 * (num_ranks - 1) * hop + size_bytes / (0.5 * _tree_busbw(protocol, tuning))
    hops = num_ranks if collective in (Collective.BROADCAST, Collective.REDUCE) else ring_steps(collective, num_ranks)
    return base + hops * hop + busbw_factor(collective, num_ranks) * size_bytes / _ring_busbw(protocol, tuning)


def _ring_busbw(protocol: Protocol, tuning: NcclTuning) -> float:
    link = tuning.link_bytes_per_second
    if protocol is Protocol.LL:
        return min(tuning.ll_bytes_per_second, _LL_HALF_IS_FLAGS * link)
    if protocol is Protocol.LL128:
        return min(tuning.ll128_ratio * link, tuning.ll128_bytes_per_second)
    return link


def _tree_busbw(protocol: Protocol, tuning: NcclTuning) -> float:
    tree = tuning.tree_ratio * tuning.link_bytes_per_second
    if protocol is Protocol.LL:
        return min(_TREE_LL_RATIO * tree, tuning.ll_bytes_per_second)
    if protocol is Protocol.LL128:
        return min(_TREE_LL128_RATIO * tree, tuning.ll128_bytes_per_second)
    return tree


def _nvls_seconds(num_ranks: int, size_bytes: float, path: CollectivePath) -> float:
    if path.nvls is None:
        return float("inf")
    heads = nvls_heads(num_ranks)
    speed = head_speed(path.nvls, num_ranks, path.tuning.link_bytes_per_second)
    busbw = 2 * heads * speed * path.tuning.nvls_efficiency_ratio * (heads - 1) / heads
    latency = path.tuning.hop_seconds[Algorithm.NVLS, Protocol.SIMPLE]
    return latency + busbw_factor(Collective.ALL_REDUCE, num_ranks) * size_bytes / busbw
