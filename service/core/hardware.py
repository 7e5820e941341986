"""What a cluster is made of: frozen facts in SI units. The catalogue builds them; the formulas read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Topology(StrEnum):
    """How the accelerators of one scale-up domain are wired."""

    SWITCH = "switch"  # every pair through a switch at the full rate: NVSwitch
    MESH = "mesh"  # every pair by its own links: a pair gets its share only (MI300X, Gaudi)
    CUBE_MESH = "cube_mesh"  # hybrid cube mesh: some pairs have no link (DGX-1V)
    BRIDGE = "bridge"  # a bridge joins two or four boards; all its links go to the peers
    TORUS = "torus"  # neighbours only (TPU, Trainium)
    PCIE = "pcie"  # no scale-up link at all: peer to peer over the host's PCIe


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator as the driver shows it (a GB200 superchip is two of these).

    Parameters
    ----------
    peak_flops_per_second : Mapping[str, float]
        Dense peaks by number format (fp64, fp64_tensor, fp32, tf32, bf16, fp16, fp8, fp6, fp4, int8);
        a format that is not stated is absent. [FLOP/s; int8: op/s]
    memory_bytes : float
        What the driver shows, where known, else the vendor's figure. [B]
    memory_bandwidth_bytes_per_second : float
        Datasheet rate. [B/s]
    host_link_bytes_per_second : float or None
        PCIe to the host, one direction. [B/s]
    """

    id: str
    name: str
    vendor: str
    architecture: str
    peak_flops_per_second: Mapping[str, float]
    memory_bytes: float
    memory_bandwidth_bytes_per_second: float
    sm_count: int | None = None
    tdp_watts: float | None = None
    l2_cache_bytes: float | None = None
    boost_clock_hertz: float | None = None
    host_link_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """The links inside one scale-up (NVLink) domain, as one GPU has them.

    Parameters
    ----------
    network : str
        Catalogue id of the network, such as ``nvlink4``.
    bandwidth_bytes_per_second : float
        All links of one GPU together, **one direction**. [B/s]
    bidirectional_bytes_per_second : float
        The vendor's headline: both directions summed. [B/s]
    pair_bandwidth_bytes_per_second : float
        What one pair of GPUs can use, one direction: all of it on a switch, one peer's share on a mesh. [B/s]
    domain_gpus : int
        GPUs that the links span: 8 on a DGX H100, 72 on an NVL72.
    in_switch_reduction : bool
        Whether the switch can add (NVLink SHARP), which NCCL's NVLS needs.
    """

    network: str
    topology: Topology
    bandwidth_bytes_per_second: float
    bidirectional_bytes_per_second: float
    pair_bandwidth_bytes_per_second: float
    domain_gpus: int
    in_switch_reduction: bool = False


@dataclass(frozen=True, slots=True)
class ScaleOut:
    """The network between nodes, as one GPU has it.

    Parameters
    ----------
    network : str
        Catalogue id of the network, such as ``infiniband-ndr``.
    bandwidth_bytes_per_second : float
        Per GPU, one direction. [B/s]
    nics_per_gpu : float
        4 cards for 8 GPUs is 0.5.
    pod_gpus : int or None
        GPUs that share full bisection; None: all do.
    taper_ratio : float
        How many GPUs' rates share one's above the pod: 7 on a spine of 1:7.
    in_switch_reduction : bool
        Whether its switches can add (SHARP).
    """

    network: str
    bandwidth_bytes_per_second: float
    nics_per_gpu: float
    pod_gpus: int | None = None
    taper_ratio: float = 1.0
    in_switch_reduction: bool = False


@dataclass(frozen=True, slots=True)
class System:
    """A machine that can be asked about: its accelerator, its node, its domain and its network.

    Parameters
    ----------
    gpus_per_node : int
        GPUs that share a host: 8 on a DGX, 4 on a GB200 tray.
    scale_out : ScaleOut or None
        None: the system stops at its domain.
    max_gpus : int
        As many GPUs as the system can have: its domain without a network, else what its fabric scales to.
    """

    id: str
    name: str
    accelerator: Accelerator
    gpus_per_node: int
    scale_up: ScaleUp
    scale_out: ScaleOut | None
    max_gpus: int
    notes: tuple[str, ...] = field(default=())


def usable_bandwidth(scale_up: ScaleUp, num_ranks: int) -> float:
    r"""Return what one GPU can send to its group, one direction: all its links, or on a mesh those to the group only.

    .. math:: B_n = \min(B, (n-1) b)

    Parameters
    ----------
    scale_up : ScaleUp
        B, all links of a GPU, and b, those to one peer. [B/s]
    num_ranks : int
        n, GPUs of the group. [-]

    Source
    ------
    stas00/ml-engineering 744d01e1, network/README.md: 47.7 GB/s busbw for 2, 312.9 for 8 of the GPUs of an MI300X node.
    """
    return min(scale_up.bandwidth_bytes_per_second, max(1, num_ranks - 1) * scale_up.pair_bandwidth_bytes_per_second)
