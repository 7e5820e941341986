"""Expert dispatch and combine: tokens go to the ranks that hold their experts, and the experts' answers come back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from service.core.collectives.cost import FREE, CollectiveCost, smooth_maximum


class Phase(StrEnum):
    """Which way: out to the experts, or back and added up."""

    DISPATCH = "expert_dispatch"
    COMBINE = "expert_combine"


@dataclass(frozen=True, slots=True)
class ExchangeConstants:
    """One kernel, one phase, on one kind of board.

    Parameters
    ----------
    launch_seconds : float
        However few tokens. [s]
    sm_bytes_per_second : float
        What one SM moves; 0 where the kernel's SMs are its own choice. [B/s]
    local_copies : float
        What an SM handles of each token beside the copies that leave: reading, adding up, writing, in copies. [-]
    link_ratio : float
        Share of a GPU's links, one direction, that all SMs together reach. [-]
    sharpness : float
        p of the smooth maximum between launch and transfer. [-]
    nic_ratio : float
        Share of a NIC's line rate that payload reaches; 0: the kernel was never measured between domains. [-]
    hop_seconds : float
        Added where ranks of other domains take part. [s]
    per_expert : bool
        Whether a token is sent once for each of its experts, or once for each rank that holds any.
    """

    launch_seconds: float
    sm_bytes_per_second: float
    local_copies: float
    link_ratio: float
    sharpness: float
    nic_ratio: float
    hop_seconds: float
    per_expert: bool


@dataclass(frozen=True, slots=True)
class ExpertTraffic:
    """What one rank sends in a phase.

    Parameters
    ----------
    copies : float
        Times that a token leaves its rank, expected. [-]
    far_copies : float
        Those of them that leave its scale-up domain. [-]
    bytes_per_copy : float
        A token's activations in the dtype on the wire, with its scales. [B]
    tokens : int
        Of one rank. [-]
    """

    copies: float
    far_copies: float
    bytes_per_copy: float
    tokens: int

    @property
    def near_bytes(self) -> float:
        """What goes over the links inside the domain. [B]"""
        return (self.copies - self.far_copies) * self.bytes_per_copy * self.tokens

    @property
    def far_bytes(self) -> float:
        """What goes through the NICs. [B]"""
        return self.far_copies * self.bytes_per_copy * self.tokens


def ranks_reached(num_experts: int, top_k: int, num_ranks: int) -> float:
    r"""Return how many ranks a token's experts are on, expected over uniform routing without repetition.

    .. math:: n \left(1 - \binom{E - E/n}{k} / \binom{E}{k}\right)

    Parameters
    ----------
    num_experts : int
        E, of the layer. [-]
    top_k : int
        k, experts a token goes to. [-]
    num_ranks : int
        n, which divides E. [-]

    Assumptions
    -----------
    Balanced routing; real routers are skewed, and the fullest rank is later than the mean.

    Source
    ------
    Definition: the hypergeometric chance that none of k experts is among the E/n of a rank.
    """
    held = num_experts // num_ranks
    missed = math.prod((num_experts - top_k - i) / (num_experts - i) for i in range(held)) if held else 1.0
    return num_ranks * (1.0 - max(missed, 0.0))


def expert_traffic(
    tokens: int, token_bytes: float, num_experts: int, top_k: int, num_ranks: int, ranks_per_domain: int,
    *, per_expert: bool,
) -> ExpertTraffic:  # fmt: skip
    r"""Return what one rank sends: a token's copies to other ranks, near and far.

    .. math:: c = \frac{n-1}{n} \cdot (k \text{ or } n_{reached}), \qquad c_{far} = \frac{n-g}{n-1}\, c

    Parameters
    ----------
    tokens : int
        Of one rank. [-]
    token_bytes : float
        One token on the wire. [B]
    num_experts, top_k : int
        E and k. [-]
    num_ranks, ranks_per_domain : int
        n ranks of the group, g that share a domain. [-]
    per_expert : bool
        One copy an expert, or one a rank.

    Source
    ------
    DeepSeek-AI, DeepEP, README: normal kernels send a token once a rank, low-latency ones once an expert.
    """
    if num_ranks == 1:
        return ExpertTraffic(0.0, 0.0, token_bytes, tokens)
    reached = float(top_k) if per_expert else ranks_reached(num_experts, top_k, num_ranks)
    copies = reached * (num_ranks - 1) / num_ranks
    far = copies * (num_ranks - ranks_per_domain) / (num_ranks - 1)
    return ExpertTraffic(copies, far, token_bytes, tokens)


def exchange(
    traffic: ExpertTraffic,
    constants: ExchangeConstants,
    link_bytes_per_second: float,
    nic_bytes_per_second: float,
    sms: int = 0,
) -> CollectiveCost:
    r"""Return what one phase costs one rank.

    .. math:: t = \left((a + l)^p + \max\left(\frac{m_{near}}{\eta B}, \frac{m_{near} + c_0 m_1}{s r},
              \frac{m_{far}}{\nu B_{NIC}}\right)^p\right)^{1/p}

    with m_1 one copy of every token, which the SMs handle c_0 times beside what leaves.

    Parameters
    ----------
    traffic : ExpertTraffic
        m near and far, and m_1.
    constants : ExchangeConstants
        a, r, c_0, eta, p, nu, l.
    link_bytes_per_second : float
        B: one GPU's links, one direction. [B/s]
    nic_bytes_per_second : float
        One GPU's share of the NICs, one direction; ignored inside one domain. [B/s]
    sms : int
        s, SMs given to the kernel; 0 where it takes its own choice. [-]

    Source
    ------
    The kernels: DeepSeek-AI, DeepEP; NVIDIA/TensorRT-LLM, NVLink one- and two-sided all-to-all. Constants:
    hardware_catalog/calibrations/expert-exchange.yaml.
    """
    if traffic.copies == 0:
        return FREE
    latency = constants.launch_seconds
    bandwidth = traffic.near_bytes / (constants.link_ratio * link_bytes_per_second)
    if constants.sm_bytes_per_second > 0 and sms > 0:
        handled = traffic.near_bytes + constants.local_copies * traffic.bytes_per_copy * traffic.tokens
        bandwidth = max(bandwidth, handled / (sms * constants.sm_bytes_per_second))
    if traffic.far_bytes > 0:
        latency += constants.hop_seconds
        bandwidth = max(bandwidth, traffic.far_bytes / (constants.nic_ratio * nic_bytes_per_second))
    total = smooth_maximum(latency, bandwidth, constants.sharpness)
    return CollectiveCost(total - bandwidth, bandwidth, traffic.near_bytes + traffic.far_bytes, 1)


class ExpertKernel(StrEnum):
    """Whose kernel moves the tokens: DeepEP's, TensorRT-LLM's over NVLink, or NCCL's plain all-to-all."""

    DEEPEP_NORMAL = "deepep_normal"
    DEEPEP_LOW_LATENCY = "deepep_low_latency"
    DEEPEP_V2_CONTEXT = "deepep_v2_context"
    DEEPEP_V2_GENERATION = "deepep_v2_generation"
    NVLINK_ONE_SIDED = "nvlink_one_sided"
    NVLINK_TWO_SIDED = "nvlink_two_sided"
    ALL_TO_ALL = "all_to_all"
