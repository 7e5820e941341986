"""How a training job is cut over GPUs, and where the ranks of each group sit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from service.core.placement import Placement


class Sharding(StrEnum):
    """What of the model's state data parallelism divides instead of repeating."""

    NONE = "none"  # DDP: everything is repeated
    ZERO1 = "zero1"  # optimizer states (Megatron's distributed optimizer)
    ZERO2 = "zero2"  # and gradients (FSDP SHARD_GRAD_OP)
    ZERO3 = "zero3"  # and parameters (FSDP FULL_SHARD)
    HSDP = "hsdp"  # ZeRO-3 inside a group, repeated between groups

    @property
    def gathers_parameters(self) -> bool:
        """Whether layers are gathered before they are used."""
        return self in (Sharding.ZERO3, Sharding.HSDP)


@dataclass(frozen=True, slots=True)
class ParallelismPlan:
    """The sizes of every kind of parallelism; ranks run tensor first, then context, data and pipeline.

    Parameters
    ----------
    tensor_parallel_size, context_parallel_size, data_parallel_size, pipeline_parallel_size : int
        t, c, d, p: their product is the number of GPUs.
    virtual_pipeline_size : int
        v, model chunks of one stage (interleaving).
    expert_parallel_size, expert_tensor_parallel_size : int
        e and t_e, laid over the t c d ranks of a stage.
    sharding_group_size : int or None
        Ranks that share one copy of the sharded state under HSDP.
    """

    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    virtual_pipeline_size: int = 1
    context_parallel_size: int = 1
    expert_parallel_size: int = 1
    expert_tensor_parallel_size: int = 1
    data_parallel_size: int = 1
    sequence_parallel: bool = False
    sharding: Sharding = Sharding.NONE
    sharding_group_size: int | None = None

    @property
    def stage_gpus(self) -> int:
        """GPUs that hold the same layers: t c d."""
        return self.tensor_parallel_size * self.context_parallel_size * self.data_parallel_size

    @property
    def gpus(self) -> int:
        """All GPUs: t c d p."""
        return self.stage_gpus * self.pipeline_parallel_size

    @property
    def replicas(self) -> int:
        """Ranks that hold the same dense parameters: c d."""
        return self.context_parallel_size * self.data_parallel_size

    @property
    def expert_replicas(self) -> int:
        """Ranks that hold the same experts: t c d / (e t_e)."""
        return self.stage_gpus // (self.expert_parallel_size * self.expert_tensor_parallel_size)

    @property
    def activation_divisor(self) -> int:
        """How many ranks share what lies between the tensor-parallel parts of a layer: t with sequence parallelism."""
        return self.tensor_parallel_size if self.sequence_parallel else 1

    def sharding_ranks(self, replicas: int) -> int:
        """Return over how many of some replicas the state is divided."""
        if self.sharding is Sharding.NONE:
            return 1
        if self.sharding is Sharding.HSDP and self.sharding_group_size:
            return math.gcd(replicas, self.sharding_group_size)
        return replicas


def group_placement(size: int, stride: int, gpus_per_node: int, domain_gpus: int) -> Placement:
    r"""Return how a group of ranks that are `stride` apart lies on nodes and scale-up domains.

    .. math:: n_{node} = \max \{ m : m \mid n,\ m \le \max(1, G / \sigma) \}

    Parameters
    ----------
    size : int
        n, ranks of the group. [-]
    stride : int
        sigma, distance between neighbours of the group in the order of ranks. [-]
    gpus_per_node : int
        G, ranks that share a host. [-]
    domain_gpus : int
        Ranks that a scale-up domain spans. [-]

    Assumptions
    -----------
    Ranks fill nodes, and nodes fill domains, in order. A domain that a group does not divide is used by the largest
    part that does: 64 of an NVL72's 72.

    Source
    ------
    Narayanan et al., arXiv:2104.04473, section 3.4: tensor parallelism inside a node, data and pipeline across.
    """

    def sharing(limit: int) -> int:
        most = max(1, min(size, limit // stride))
        return next(m for m in range(most, 0, -1) if size % m == 0)

    domain = sharing(max(domain_gpus, gpus_per_node))
    node = min(sharing(gpus_per_node), domain)
    return Placement(size, node if domain % node == 0 else math.gcd(node, domain), domain)
