"""The words of the subject: collectives, algorithms, protocols, and what one way of doing it costs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Collective(StrEnum):
    """Collective operations, named as in nccl-tests with underscores."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    SEND_RECV = "send_recv"


class Algorithm(StrEnum):
    """Algorithms as NCCL names them; `direct` is its point-to-point path.

    `symmetric` and `copy_engine` are what it does with buffers registered in symmetric windows. `one_shot`, `two_shot`
    and `multimem` are serving frameworks' own.
    """

    RING = "ring"
    TREE = "tree"
    NVLS = "nvls"
    NVLS_TREE = "nvls_tree"
    COLLNET = "collnet"
    PAT = "pat"
    DIRECT = "direct"
    HIERARCHICAL = "hierarchical"
    SYMMETRIC = "symmetric"
    COPY_ENGINE = "copy_engine"
    ONE_SHOT = "one_shot"
    TWO_SHOT = "two_shot"
    MULTIMEM = "multimem"


class Protocol(StrEnum):
    """NCCL's wire protocols."""

    SIMPLE = "simple"
    LL = "ll"
    LL128 = "ll128"


@dataclass(frozen=True, slots=True)
class CollectiveCost:
    """What one algorithm with one protocol costs.

    Parameters
    ----------
    latency_seconds : float
        The part that no faster link would shorten. [s]
    bandwidth_seconds : float
        The bytes on the wire over the rate the path reaches. [s]
    bytes_on_wire_per_gpu : float
        What each GPU sends, one direction. [B]
    steps : int
        Dependent hops. [-]
    """

    latency_seconds: float
    bandwidth_seconds: float
    bytes_on_wire_per_gpu: float
    steps: int

    @property
    def seconds(self) -> float:
        """Time of the whole collective. [s]"""
        return self.latency_seconds + self.bandwidth_seconds


FREE = CollectiveCost(0.0, 0.0, 0.0, 0)
"""A group of one rank has nothing to send."""


def smooth_maximum(a: float, b: float, sharpness: float) -> float:
    r"""Return a maximum that is rounded where its arguments meet.

    .. math:: (a^p + b^p)^{1/p}

    Parameters
    ----------
    a, b : float
        What could bound the time; not negative. [s]
    sharpness : float
        p; 1 adds (nothing overlaps), infinity takes the larger (all overlaps). [-]

    Source
    ------
    The p-norm; used so between a latency and a bandwidth regime by Hockney-type models with overlap.
    """
    larger, smaller = max(a, b), min(a, b)
    if larger <= 0.0:
        return 0.0
    return float(larger * (1.0 + (smaller / larger) ** sharpness) ** (1.0 / sharpness))
