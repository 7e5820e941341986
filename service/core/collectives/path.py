"""What a collective runs on: the link one GPU has inside its domain, and the constants measured on its like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from service.core.collectives.cost import Algorithm, Protocol


@dataclass(frozen=True, slots=True)
class LowLatencyConstants:
    """Ring with flags beside the data (LL, LL128).

    Parameters
    ----------
    launch_seconds : float
        Kernel launch and the first and last touch. [s]
    hop_seconds : float
        One dependent hop over the link. [s]
    crowding_ratio : float
        How much longer the hops take when all channels run than when one does. [-]
    bandwidth_bytes_per_second : float
        busbw that the protocol reaches; bound by the SMs, not by the link. [B/s]
    line_bytes : float
        What all threads of a channel move at once: a step's first line is in the hop. [B]
    """

    launch_seconds: float
    hop_seconds: float
    crowding_ratio: float
    bandwidth_bytes_per_second: float
    line_bytes: float


@dataclass(frozen=True, slots=True)
class SimpleRingConstants:
    """Ring with fences (Simple).

    Parameters
    ----------
    launch_seconds : float
        Kernel launch and the first and last touch. [s]
    step_seconds : float
        Added to each step's transfer when the pipe is full. [s]
    handshake_seconds : float
        Fence, flag and wake-up of the neighbour: what half a step cannot hide when chunks are small. [s]
    link_ratio : float
        Share of the link's per-direction rate that payload reaches. [-]
    copy_bytes_per_second : float
        The one local copy that no step hides (input to output, or the last reduction). [B/s]
    """

    launch_seconds: float
    step_seconds: float
    handshake_seconds: float
    link_ratio: float
    copy_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class NvlsConstants:
    """In-switch reduction (NVLS).

    Parameters
    ----------
    channels : int
        Channels that NCCL gives it. [-]
    head_speeds_bytes_per_second : tuple[float, ...]
        Rates that NCCL's topology search tries for one head, falling. [B/s]
    launch_seconds : float
        Kernel launch and the first and last touch. [s]
    round_seconds : float
        Fixed cost of one round: every channel and head moves one chunk. [s]
    round_bandwidth_bytes_per_second : float
        Rate at which a round moves its bytes (each GPU both ways through the switch). [B/s]
    link_ratio : float
        Share of the per-direction rate that the switch sustains on the largest buffers, for 8 GPUs. [-]
    link_ratio_per_doubling : float
        What it loses with each doubling of the GPUs past 8 in one domain. [-]
    """

    channels: int
    head_speeds_bytes_per_second: tuple[float, ...]
    launch_seconds: float
    round_seconds: float
    round_bandwidth_bytes_per_second: float
    link_ratio: float
    link_ratio_per_doubling: float = 0.0


@dataclass(frozen=True, slots=True)
class DirectConstants:
    """Point to point with every peer at once (all-to-all, send/recv).

    Parameters
    ----------
    launch_seconds : float
        Smallest messages. [s]
    low_latency_bytes_per_second : float
        Rate of the LL path to one peer, which small chunks take. [B/s]
    handshake_seconds : float
        What the Simple path adds to the launch however small; caps what LL adds. [s]
    link_ratio : float
        Share of the per-direction rate with all peers busy. [-]
    copy_bytes_per_second : float
        The chunk a rank keeps for itself, copied locally. [B/s]
    sharpness : float
        p of the smooth maximum. [-]
    """

    launch_seconds: float
    low_latency_bytes_per_second: float
    handshake_seconds: float
    link_ratio: float
    copy_bytes_per_second: float
    sharpness: float


@dataclass(frozen=True, slots=True)
class SymmetricConstants:
    """Kernels on symmetric windows: what each takes however small the message. [s]

    Parameters
    ----------
    ll_seconds, ll_gather_seconds : float
        LL, for sums and for all-gather.
    reduce_seconds, share_seconds : float
        All-reduce; all-gather and reduce-scatter.
    """

    ll_seconds: float
    ll_gather_seconds: float
    reduce_seconds: float
    share_seconds: float


@dataclass(frozen=True, slots=True)
class NcclTuning:
    """NCCL's own cost-model constants for one GPU generation inside one domain: they choose, they do not time.

    Parameters
    ----------
    base_seconds, hop_seconds : Mapping[tuple[Algorithm, Protocol], float]
        Latency terms of ring and tree; the hop of NVLS is all its latency. [s]
    link_bytes_per_second : float
        What the tuner believes one GPU's links carry, one direction. [B/s]
    ll_bytes_per_second, ll128_ratio, ll128_bytes_per_second : float
        Caps of LL and LL128. [B/s, -, B/s]
    tree_ratio : float
        Share of the link rate that a tree is believed to reach. [-]
    nvls_efficiency_ratio : float
        0 where there is none. [-]
    network : NetworkTuning or None
        What it believes of the network between domains; None inside one.
    """

    base_seconds: Mapping[tuple[Algorithm, Protocol], float]
    hop_seconds: Mapping[tuple[Algorithm, Protocol], float]
    link_bytes_per_second: float
    ll_bytes_per_second: float
    ll128_ratio: float
    ll128_bytes_per_second: float
    tree_ratio: float
    nvls_efficiency_ratio: float
    network: NetworkTuning | None = None


@dataclass(frozen=True, slots=True)
class NetworkTuning:
    """NCCL's cost-model constants between domains, for as many domains as there are.

    Parameters
    ----------
    hop_seconds : Mapping[tuple[Algorithm, Protocol], float]
        A hop over the network. [s]
    overhead_seconds : float
        Posting one message to the network. [s]
    nic_ratio : float
        Share of the NIC's line rate that its search gives a channel. [-]
    ll_bytes_per_second : float
        Cap of LL. [B/s]
    tree_bytes_per_second : float
        Cap of all channels of a tree. [B/s]
    nvls_tree_channel_bytes_per_second : float
        Cap of one channel of NVLSTree. [B/s]
    """

    hop_seconds: Mapping[tuple[Algorithm, Protocol], float]
    overhead_seconds: float
    nic_ratio: float
    ll_bytes_per_second: float
    tree_bytes_per_second: float
    nvls_tree_channel_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Fabric:
    """The network between scale-up domains, as one GPU has it.

    Parameters
    ----------
    line_bytes_per_second : float
        Line rate of one GPU's share of the NICs, one direction. [B/s]
    efficiency_ratio : float
        Share of it that NCCL's payload reaches on the largest messages. [-]
    hop_seconds : float
        One message GPU to GPU: proxies, NICs, switches and flags, for LL. [s]
    pod_ranks : int or None
        Ranks that share full bisection; None: the whole group. [-]
    taper_ratio : float
        How many GPUs' rates share one's above the pod. [-]
    switches_add : bool
        Whether its switches can add (SHARP).
    """

    line_bytes_per_second: float
    efficiency_ratio: float
    hop_seconds: float
    pod_ranks: int | None = None
    taper_ratio: float = 1.0
    switches_add: bool = False

    @property
    def payload_bytes_per_second(self) -> float:
        """What one GPU's payload reaches over the network, one direction. [B/s]"""
        return self.line_bytes_per_second * self.efficiency_ratio


@dataclass(frozen=True, slots=True)
class CollectivePath:
    """A group's way as the formulas see it: its scale-up domain, and the fabric between domains if it has several.

    Parameters
    ----------
    bandwidth_bytes_per_second : float
        Per GPU, one direction, as far as the group's size lets it be used (a mesh pair has its share only). [B/s]
    max_channels : int
        CTAs a collective may use. [-]
    nvls : NvlsConstants or None
        None: the switch cannot add, or there is none.
    ranks_per_domain : int
        g, ranks of the group that share a domain. [-]
    num_domains : int
        k. [-]
    fabric : Fabric or None
        None where k is 1.
    symmetric : SymmetricConstants or None
        None: NCCL has no kernels on symmetric windows for this GPU.
    registered_buffers : bool
        Whether the user's buffers are in symmetric windows.
    nccl_version : tuple[int, ...]
        Which NCCL decides. [-]
    min_channels : int
        CTAs a collective takes at least (NCCL_MIN_CTAS). [-]
    channel_bytes_per_second : float
        What one CTA moves at most. [B/s]
    hosts_per_domain : int
        Hosts that NVLink joins (what NCCL calls MNNVL where it is above 1): a GB200 rack has 18. [-]
    """

    bandwidth_bytes_per_second: float
    max_channels: int
    ll: LowLatencyConstants
    ll128: LowLatencyConstants
    simple: SimpleRingConstants
    direct: DirectConstants
    nvls: NvlsConstants | None
    tuning: NcclTuning
    ranks_per_domain: int
    num_domains: int = 1
    fabric: Fabric | None = None
    hosts_per_domain: int = 1
    symmetric: SymmetricConstants | None = None
    registered_buffers: bool = False
    nccl_version: tuple[int, ...] = (2, 30, 7)
    min_channels: int = 1
    channel_bytes_per_second: float = math.inf
