"""Which ways of doing a collective there are on a path, and why one is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from service.core.collectives.cost import Algorithm, Collective
from service.core.collectives.path import CollectivePath
from service.core.numerics import Dtype

_FLOATS = frozenset({Dtype.FP32, Dtype.FP16, Dtype.BF16})
_IN_SWITCH = frozenset({Algorithm.NVLS, Algorithm.NVLS_TREE})
_ON_WINDOWS = frozenset({Algorithm.SYMMETRIC, Algorithm.COPY_ENGINE})

# The first NCCL that has it (release notes; src/include/nccl_common.h of each tag).
_SINCE: Mapping[Algorithm, tuple[int, ...]] = MappingProxyType(
    {
        Algorithm.NVLS: (2, 17),
        Algorithm.NVLS_TREE: (2, 18),
        Algorithm.PAT: (2, 23),
        Algorithm.SYMMETRIC: (2, 27),
        Algorithm.COPY_ENGINE: (2, 28),
    }
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides availability: the same for every size.

    Parameters
    ----------
    switch_adds, network_adds : bool
        Whether the domain's switch can (NVLink SHARP), and the network's (SHARP).
    several_domains, joins_hosts, one_rank_a_domain : bool
        How the group sits; `joins_hosts`: NVLink reaches over hosts inside a domain.
    registered_buffers, has_symmetric_kernels : bool
        Whether the buffers are in symmetric windows, and whether NCCL has kernels for them on this GPU.
    """

    switch_adds: bool
    network_adds: bool
    several_domains: bool
    joins_hosts: bool
    one_rank_a_domain: bool
    registered_buffers: bool
    has_symmetric_kernels: bool
    nccl_version: tuple[int, ...]


def circumstances(path: CollectivePath) -> Circumstances:
    """Return what of a path decides which ways there are.

    Parameters
    ----------
    path : CollectivePath
        Domain, fabric and the NCCL that runs.

    Source
    ------
    Definition.
    """
    return Circumstances(
        switch_adds=path.nvls is not None,
        network_adds=path.fabric is not None and path.fabric.switches_add,
        several_domains=path.num_domains > 1,
        joins_hosts=path.hosts_per_domain > 1,
        one_rank_a_domain=path.ranks_per_domain == 1,
        registered_buffers=path.registered_buffers,
        has_symmetric_kernels=path.symmetric is not None,
        nccl_version=path.nccl_version,
    )


def why_not(
    algorithm: Algorithm, does: frozenset[Collective], collective: Collective, dtype: Dtype, here: Circumstances
) -> str | None:
    """Return why a way is not available, or None.

    Parameters
    ----------
    algorithm, collective : Algorithm, Collective
        The way, and what it should do.
    does : frozenset[Collective]
        What the algorithm can do.
    dtype : Dtype
        Decides what can be added on the way.
    here : Circumstances
        Of the path.

    Source
    ------
    NVIDIA/nccl 5067397c, src/graph/tuning.cc, ncclNvlsSupported, src/sym_kernels.cc and src/ce_coll.cc. No NVLSTree
    with MNNVL: src/graph/tuning.cc of b6475625; the public run of 2.29.2 over two GB200 racks follows the tree, too.
    """
    if collective not in does:
        if algorithm is Algorithm.NVLS and collective in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER):
            return f"NCCL keeps {collective} on the ring unless its buffers are registered"
        return f"NCCL has {algorithm} for {' and '.join(sorted(does))}, not for {collective}"
    since = _SINCE.get(algorithm, ())
    if here.nccl_version < since:
        return f"NCCL has {algorithm} from {'.'.join(map(str, since))} on"
    if algorithm in _IN_SWITCH:
        return _no_switch(algorithm, dtype, here)
    if algorithm in _ON_WINDOWS:
        return _no_windows(algorithm, collective, dtype, here)
    if algorithm is Algorithm.COLLNET:
        return _no_collnet(dtype, here)
    if algorithm is Algorithm.PAT and not (here.one_rank_a_domain and here.several_domains):
        return "NCCL takes PAT only with one rank a domain"
    return None


def _no_switch(algorithm: Algorithm, dtype: Dtype, here: Circumstances) -> str | None:
    if not here.switch_adds:
        return "this domain has no switch that can add (NVLink SHARP)"
    if dtype not in _FLOATS:
        return f"the switch does not add {dtype}; it adds {', '.join(sorted(_FLOATS))}"
    if here.one_rank_a_domain:
        return "a rank that is alone in its domain has nothing for the switch to add"
    if algorithm is Algorithm.NVLS and here.several_domains:
        return "nvls alone spans one domain; nvls_tree joins several"
    if algorithm is Algorithm.NVLS_TREE and not here.several_domains:
        return "nvls_tree joins several domains; this group is in one"
    if algorithm is Algorithm.NVLS_TREE and here.joins_hosts:
        return "NCCL keeps nvls_tree off where NVLink joins hosts (MNNVL); public runs over racks follow its tree"
    return None


def _no_windows(algorithm: Algorithm, collective: Collective, dtype: Dtype, here: Circumstances) -> str | None:
    if not here.registered_buffers:
        return "needs buffers registered in symmetric windows: registered_buffers"
    if here.several_domains:
        return "spans one NVLink domain"
    if not here.has_symmetric_kernels:
        return "NCCL has symmetric memory from Hopper on, on NVLink"
    sums = collective in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER)
    if algorithm is Algorithm.SYMMETRIC and sums and dtype not in _FLOATS:
        return f"symmetric kernels do not add {dtype}"
    return None


def _no_collnet(dtype: Dtype, here: Circumstances) -> str | None:
    if not here.several_domains:
        return "adds in the network's switches; this group is in one domain"
    if not here.network_adds:
        return "this network's switches cannot add (SHARP)"
    if here.joins_hosts:
        return "NCCL has it for up to 8 ranks a host, not where NVLink joins hosts"
    return None if dtype in _FLOATS else f"the network's switches do not add {dtype}"
