"""The table of algorithms; every way of doing a collective, timed; and the one that NCCL takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from service.core.collectives import collnet, copy_engine, direct, in_network, nvls_tree, pat, ring, symmetric, tree
from service.core.collectives.availability import Circumstances, circumstances, why_not
from service.core.collectives.cost import Algorithm, Collective, CollectiveCost, Protocol
from service.core.collectives.nccl_selection import tuner_seconds
from service.core.collectives.path import CollectivePath
from service.core.numerics import Dtype

CostFunction = Callable[[Collective, Protocol, int, float, CollectivePath], CollectiveCost]


@dataclass(frozen=True, slots=True)
class AlgorithmEntry:
    """One row of the table: what an algorithm can do, in which protocols.

    Parameters
    ----------
    preferred : bool
        NCCL takes it wherever it can.
    on_request : bool
        NCCL takes it only where a setting says so.
    """

    costs: Mapping[Collective, CostFunction]
    protocols: tuple[Protocol, ...]
    preferred: bool = False
    on_request: bool = False


ALGORITHMS: Mapping[Algorithm, AlgorithmEntry] = MappingProxyType(
    {
        Algorithm.RING: AlgorithmEntry(ring.COSTS, ring.PROTOCOLS),
        Algorithm.TREE: AlgorithmEntry(tree.COSTS, tree.PROTOCOLS),
        Algorithm.NVLS: AlgorithmEntry(in_network.COSTS, in_network.PROTOCOLS),
        Algorithm.NVLS_TREE: AlgorithmEntry(nvls_tree.COSTS, nvls_tree.PROTOCOLS),
        Algorithm.COLLNET: AlgorithmEntry(collnet.COSTS, collnet.PROTOCOLS, on_request=True),
        Algorithm.PAT: AlgorithmEntry(pat.COSTS, pat.PROTOCOLS),
        Algorithm.DIRECT: AlgorithmEntry(direct.COSTS, direct.PROTOCOLS),
        Algorithm.SYMMETRIC: AlgorithmEntry(symmetric.COSTS, symmetric.PROTOCOLS, preferred=True),
        Algorithm.COPY_ENGINE: AlgorithmEntry(copy_engine.COSTS, copy_engine.PROTOCOLS, on_request=True),
    }
)

_NOT_TIMED = MappingProxyType(
    {
        Algorithm.HIERARCHICAL: "is what frameworks build from reduce-scatter, all-reduce and all-gather; NCCL's own "
        "forms of it are tree and nvls_tree",
    }
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way of doing a collective.

    Parameters
    ----------
    cost : CollectiveCost or None
        None: not available, and `why_not` says why.
    tuner_seconds : float or None
        What NCCL's own model believes, by which it chooses. [s]
    """

    algorithm: Algorithm
    protocol: Protocol
    cost: CollectiveCost | None
    tuner_seconds: float | None
    why_not: str | None = None


def candidates(
    collective: Collective, dtype: Dtype, num_ranks: int, size_bytes: float, path: CollectivePath
) -> tuple[Candidate, ...]:
    """Return every way of doing a collective, timed, or why it is not available.

    Parameters
    ----------
    collective : Collective
        The operation.
    dtype : Dtype
        Decides what the switch can add.
    num_ranks : int
        n > 1. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        The domain, and the fabric if the group has several.

    Source
    ------
    `availability` and the algorithms' own.
    """
    found = []
    for algorithm, protocol, cost_function, way in _ways(collective, dtype, circumstances(path)):
        if cost_function is None:
            found.append(way)
        else:
            cost = cost_function(collective, protocol, num_ranks, size_bytes, path)
            believed = tuner_seconds(collective, algorithm, protocol, num_ranks, size_bytes, path)
            found.append(Candidate(algorithm, protocol, cost, believed))
    return tuple(found)


@cache
def _ways(
    collective: Collective, dtype: Dtype, here: Circumstances
) -> tuple[tuple[Algorithm, Protocol, CostFunction | None, Candidate], ...]:
    """Every way with its cost function, or None and why not; the same for every size and count of GPUs."""
    found: list[tuple[Algorithm, Protocol, CostFunction | None, Candidate]] = []
    for algorithm, entry in ALGORITHMS.items():
        reason = why_not(algorithm, frozenset(entry.costs), collective, dtype, here)
        cost_function = entry.costs[collective] if reason is None else None
        found += [
            (algorithm, protocol, cost_function, Candidate(algorithm, protocol, None, None, reason))
            for protocol in entry.protocols
        ]
    for algorithm, reason in _NOT_TIMED.items():
        way = Candidate(algorithm, Protocol.SIMPLE, None, None, f"{algorithm} {reason}")
        found.append((algorithm, Protocol.SIMPLE, None, way))
    return tuple(found)


def chosen(ways: tuple[Candidate, ...]) -> Candidate:
    """Return the way that NCCL takes: the available one that its tuner believes fastest.

    Parameters
    ----------
    ways : tuple[Candidate, ...]
        From `candidates`, perhaps narrowed by NCCL_ALGO or NCCL_PROTO; at least one is available.

    Source
    ------
    NVIDIA/nccl 5067397c, src/enqueue.cc, topoGetAlgoInfo: the smallest time wins; kernels on symmetric windows first.
    """
    return min((w for w in ways if w.cost is not None), key=_order)


def _order(way: Candidate) -> tuple[bool, bool, float, Algorithm]:
    entry = ALGORITHMS[way.algorithm]
    return entry.on_request, not entry.preferred, way.tuner_seconds or 0.0, way.algorithm
