"""What timing a collective gives, whoever's kernels run."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.collectives.cost import Algorithm, CollectiveCost, Protocol
from service.core.collectives.expert_exchange import ExpertKernel
from service.planning.estimates import DerivationLine, EstimateRange, EstimateWarning
from service.planning.nccl_environment import NcclSetting


@dataclass(frozen=True, slots=True)
class CollectiveCandidate:
    """One way of doing it, timed; `seconds` is None when it is not available, `protocol` for frameworks' kernels."""

    algorithm: Algorithm | ExpertKernel
    protocol: Protocol | None
    seconds: float | None
    available: bool
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """The way taken, the others, and how sure the time is.

    Parameters
    ----------
    protocol : Protocol or None
        None: no NCCL protocol, the kernel is a framework's.
    """

    cost: CollectiveCost
    algorithm: Algorithm
    protocol: Protocol | None
    candidates: tuple[CollectiveCandidate, ...]
    environment: tuple[NcclSetting, ...]
    range: EstimateRange
    derivation: tuple[DerivationLine, ...]
    warnings: tuple[EstimateWarning, ...]
