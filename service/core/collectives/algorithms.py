"""The table of algorithms; every way of doing a collective, timed; and the one that NCCL takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from service.core.collectives import direct, in_network, nvls_tree, ring, tree
from service.core.collectives.cost import Algorithm, Collective, CollectiveCost, Protocol
from service.core.collectives.nccl_selection import tuner_seconds
from service.core.collectives.path import CollectivePath
from service.core.numerics import Dtype

CostFunction = Callable[[Collective, Protocol, int, float, CollectivePath], CollectiveCost]


@dataclass(frozen=True, slots=True)
class AlgorithmEntry:
    """One row of the table: what an algorithm can do, in which protocols."""

    costs: Mapping[Collective, CostFunction]
    protocols: tuple[Protocol, ...]


ALGORITHMS: Mapping[Algorithm, AlgorithmEntry] = MappingProxyType(
    {
        Algorithm.RING: AlgorithmEntry(ring.COSTS, ring.PROTOCOLS),
        Algorithm.TREE: AlgorithmEntry(tree.COSTS, tree.PROTOCOLS),
        Algorithm.NVLS: AlgorithmEntry(in_network.COSTS, in_network.PROTOCOLS),
        Algorithm.NVLS_TREE: AlgorithmEntry(nvls_tree.COSTS, nvls_tree.PROTOCOLS),
        Algorithm.DIRECT: AlgorithmEntry(direct.COSTS, direct.PROTOCOLS),
    }
)

_ADDED_IN_SWITCH = frozenset({Dtype.FP32, Dtype.FP16, Dtype.BF16})
_NOT_TIMED = MappingProxyType(
    {
        Algorithm.COLLNET: "adds in the network's switches (SHARP), which needs a plugin; the one public run of it, on "
        "96 H100, was no faster than a ring",
        Algorithm.PAT: "is for one rank a domain, which is not modelled",
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
    Availability: NVIDIA/nccl 5067397c, src/graph/tuning.cc and ncclNvlsSupported. No NVLSTree with MNNVL: src/graph/
    tuning.cc of b6475625; the public run of 2.29.2 over two GB200 racks follows the tree, too.
    """
    found = []
    for algorithm, protocol, cost_function, way in _ways(
        collective, dtype, path.nvls is not None, path.num_domains > 1, path.hosts_per_domain > 1
    ):
        if cost_function is None:
            found.append(way)
        else:
            cost = cost_function(collective, protocol, num_ranks, size_bytes, path)
            believed = tuner_seconds(collective, algorithm, protocol, num_ranks, size_bytes, path)
            found.append(Candidate(algorithm, protocol, cost, believed))
    return tuple(found)


@cache
def _ways(
    collective: Collective, dtype: Dtype, switch_adds: bool, several: bool, joins_hosts: bool
) -> tuple[tuple[Algorithm, Protocol, CostFunction | None, Candidate], ...]:
    """Every way with its cost function, or None and why not; the same for every size and count of GPUs."""
    found: list[tuple[Algorithm, Protocol, CostFunction | None, Candidate]] = []
    for algorithm, entry in ALGORITHMS.items():
        why_not = _why_not(algorithm, collective, dtype, switch_adds, several, joins_hosts)
        cost_function = entry.costs[collective] if why_not is None else None
        found += [
            (algorithm, protocol, cost_function, Candidate(algorithm, protocol, None, None, why_not))
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
    NVIDIA/nccl 5067397c, src/enqueue.cc, topoGetAlgoInfo: the smallest time wins.
    """
    return min((w for w in ways if w.cost is not None), key=lambda w: (w.tuner_seconds or 0.0, w.algorithm))


def _why_not(
    algorithm: Algorithm, collective: Collective, dtype: Dtype, switch_adds: bool, several: bool, joins_hosts: bool
) -> str | None:
    if collective not in ALGORITHMS[algorithm].costs:
        if algorithm is Algorithm.NVLS and collective in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER):
            return f"NCCL keeps {collective} on the ring unless its buffers are registered"
        able = " and ".join(sorted(ALGORITHMS[algorithm].costs))
        return f"NCCL has {algorithm} for {able}, not for {collective}"
    if algorithm not in (Algorithm.NVLS, Algorithm.NVLS_TREE):
        return None
    if not switch_adds:
        return "this domain has no switch that can add (NVLink SHARP)"
    if dtype not in _ADDED_IN_SWITCH:
        return f"the switch does not add {dtype}; it adds {', '.join(sorted(_ADDED_IN_SWITCH))}"
    if algorithm is Algorithm.NVLS and several:
        return "nvls alone spans one domain; nvls_tree joins several"
    if algorithm is Algorithm.NVLS_TREE and not several:
        return "nvls_tree joins several domains; this group is in one"
    if algorithm is Algorithm.NVLS_TREE and joins_hosts:
        return "NCCL keeps nvls_tree off where NVLink joins hosts (MNNVL); public runs over racks follow its tree"
    return None
