"""A training step from its parts: what stages take for a micro-batch, how the pipeline strings them, what is added.

Plain arithmetic: floats or NumPy columns of layouts alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class MicroBatchSeconds:
    """One micro-batch on one stage; exclusive parts that sum to what the stage is busy for. [s]"""

    forward_compute: float = 0.0
    backward_compute: float = 0.0
    recompute: float = 0.0
    tensor_parallel_exposed: float = 0.0
    context_parallel_exposed: float = 0.0
    expert_parallel_exposed: float = 0.0
    pipeline_p2p_exposed: float = 0.0
    data_parallel_exposed: float = 0.0

    @property
    def total(self) -> float:
        """All parts."""
        total: float = sum(getattr(self, name) for name in self.__slots__)
        return total

    def plus(self, other: MicroBatchSeconds, times: float = 1.0) -> MicroBatchSeconds:
        """Return the sum with another's parts, taken some times."""
        return MicroBatchSeconds(*(a + times * b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class StepSeconds:
    """A step; exclusive parts that sum to `total`. [s]"""

    forward_compute: float
    backward_compute: float
    recompute: float
    tensor_parallel_exposed: float
    context_parallel_exposed: float
    expert_parallel_exposed: float
    pipeline_bubble: float
    pipeline_p2p_exposed: float
    data_parallel_exposed: float
    optimizer: float
    other: float

    @property
    def total(self) -> float:
        """The step."""
        total: float = sum(getattr(self, name) for name in self.__slots__)
        return total

    def parts(self) -> Mapping[str, float]:
        """Return the parts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def step_seconds(
    slowest: MicroBatchSeconds,
    all_stages: float,
    micro_batches: float,
    virtual_pipeline_size: float,
    *,
    pipeline_p2p: float = 0.0,
    data_parallel: float = 0.0,
    optimizer: float = 0.0,
    other: float = 0.0,
    straggler_ratio: float = 0.0,
) -> StepSeconds:
    r"""Return a step: the slowest stage works on every micro-batch, the others fill and drain, the optimizer follows.

    .. math:: T = (1 + \sigma) \left( m\, t_{max} + \frac{\sum_i t_i - t_{max}}{v} + t_{p2p} + t_{dp} \right) + t_{opt}
        + t_{other}

    Parameters
    ----------
    slowest : MicroBatchSeconds
        t_max by parts.
    all_stages : float
        Sum of t_i. [s]
    micro_batches : float
        m. [-]
    virtual_pipeline_size : float
        v. [-]
    pipeline_p2p : float
        Hops between stages that nothing hides. [s]
    data_parallel : float
        Gradients and parameters, once a step, that nothing hides. [s]
    optimizer, other : float
        Once a step. [s]
    straggler_ratio : float
        sigma, by which the slowest of many GPUs is later; goes to `other`. [-]

    Source
    ------
    Narayanan et al., arXiv:2104.04473, section 2.2; `service.core.training.pipeline`.
    """
    working = micro_batches * slowest.total
    bubble = (all_stages - slowest.total) / virtual_pipeline_size
    late = straggler_ratio * (working + bubble + pipeline_p2p + data_parallel)
    return StepSeconds(
        micro_batches * slowest.forward_compute,
        micro_batches * slowest.backward_compute,
        micro_batches * slowest.recompute,
        micro_batches * slowest.tensor_parallel_exposed,
        micro_batches * slowest.context_parallel_exposed,
        micro_batches * slowest.expert_parallel_exposed,
        bubble,
        micro_batches * slowest.pipeline_p2p_exposed + pipeline_p2p,
        micro_batches * slowest.data_parallel_exposed + data_parallel,
        optimizer,
        other + late,
    )


def straggler_ratio(gpus: float, ratio_per_doubling: float, gpus_without: float) -> float:
    r"""Return by how much the slowest of many GPUs is later than the mean.

    .. math:: \sigma = s \log_2 \max\left(1, \frac{n}{n_0}\right)

    Parameters
    ----------
    gpus : float
        n. [-]
    ratio_per_doubling : float
        s. [-]
    gpus_without : float
        n_0, up to which kernels' own constants already have it. [-]

    Source
    ------
    Jiang et al., "MegaScale", arXiv:2402.15627, section 5: slow hosts and jitter at 10,000 GPUs. The slope is fitted:
    hardware_catalog/calibrations/training.yaml.
    """
    return ratio_per_doubling * math.log2(max(1.0, gpus / gpus_without))
