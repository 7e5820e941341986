"""A path of round numbers, for worked examples by hand."""

import dataclasses

from service.core.collectives.cost import Algorithm, Protocol
from service.core.collectives.path import (
    CollectivePath,
    DirectConstants,
    Fabric,
    LowLatencyConstants,
    NcclTuning,
    NetworkTuning,
    NvlsConstants,
    SimpleRingConstants,
)

ROUND = CollectivePath(
    bandwidth_bytes_per_second=400e9,
    max_channels=16,
    ll=LowLatencyConstants(5e-6, 1e-6, 0.25, 100e9, 4096),
    ll128=LowLatencyConstants(10e-6, 2e-6, 0.0, 200e9, 0),
    simple=SimpleRingConstants(10e-6, 2e-6, 5e-6, 0.75, 1000e9),
    direct=DirectConstants(8e-6, 10e9, 4e-6, 0.75, 1000e9, 1.0),
    nvls=NvlsConstants(16, (60e9, 50e9, 40e9, 30e9), 5e-6, 10e-6, 400e9, 0.75),
    tuning=NcclTuning(
        base_seconds={
            (Algorithm.RING, Protocol.LL): 6.6e-6,
            (Algorithm.RING, Protocol.LL128): 14e-6,
            (Algorithm.RING, Protocol.SIMPLE): 8.4e-6,
            (Algorithm.TREE, Protocol.LL): 6.8e-6,
            (Algorithm.TREE, Protocol.LL128): 14e-6,
            (Algorithm.TREE, Protocol.SIMPLE): 8.4e-6,
        },
        hop_seconds={
            (Algorithm.RING, Protocol.LL): 0.6e-6,
            (Algorithm.RING, Protocol.LL128): 1.9e-6,
            (Algorithm.RING, Protocol.SIMPLE): 3.4e-6,
            (Algorithm.TREE, Protocol.LL): 0.6e-6,
            (Algorithm.TREE, Protocol.LL128): 1.25e-6,
            (Algorithm.TREE, Protocol.SIMPLE): 4.0e-6,
            (Algorithm.NVLS, Protocol.SIMPLE): 25e-6,
        },
        link_bytes_per_second=370e9,
        ll_bytes_per_second=141e9,
        ll128_ratio=0.92,
        ll128_bytes_per_second=440e9,
        tree_ratio=0.782,
        nvls_efficiency_ratio=0.85,
    ),
    ranks_per_domain=8,
)


def within(num_ranks: int, **changes: object) -> CollectivePath:
    """The path of a group inside one domain."""
    return dataclasses.replace(ROUND, ranks_per_domain=num_ranks, **changes)


def across(num_domains: int, ranks_per_domain: int = 8, **changes: object) -> CollectivePath:
    """The path of a group over several: NICs of 50 GB/s that give 40, a hop of 10 us."""
    network = NetworkTuning(
        hop_seconds={
            (Algorithm.RING, Protocol.LL): 2.7e-6,
            (Algorithm.RING, Protocol.LL128): 4.0e-6,
            (Algorithm.RING, Protocol.SIMPLE): 14e-6,
            (Algorithm.TREE, Protocol.LL): 5e-6,
            (Algorithm.TREE, Protocol.LL128): 8.5e-6,
            (Algorithm.TREE, Protocol.SIMPLE): 14e-6,
            (Algorithm.NVLS_TREE, Protocol.SIMPLE): 20.9e-6,
        },
        overhead_seconds=1e-6,
        nic_ratio=0.96,
        ll_bytes_per_second=39e9,
        tree_bytes_per_second=563e9,
        nvls_tree_channel_bytes_per_second=57.7e9,
    )
    return dataclasses.replace(
        ROUND,
        ranks_per_domain=ranks_per_domain,
        num_domains=num_domains,
        fabric=Fabric(50e9, 0.8, 10e-6),
        tuning=dataclasses.replace(ROUND.tuning, network=network),
        **changes,
    )
