"""A question's names turned into things, its defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.hardware import System
from service.core.numerics import Dtype
from service.core.training.block import TrainingEngines
from service.core.training.parallelism import ParallelismPlan, Sharding
from service.core.transformer.activations import Recompute, SelectivePolicy
from service.core.transformer.architecture import Model
from service.planning.training_question import (
    AttentionKernel,
    ContextCommunication,
    ExpertDispatcher,
    Framework,
    Offload,
    Optimizer,
    TrainingPrecision,
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A pipeline stage: how many layers of which kind, and what else it has.

    Parameters
    ----------
    dense_layers, expert_layers : int
        Layers with a dense MLP, and with experts.
    mtp_layers : int
        Multi-token-prediction modules.
    """

    dense_layers: int
    expert_layers: int
    first: bool
    last: bool
    mtp_layers: int = 0

    @property
    def layers(self) -> int:
        """Layers of the main model."""
        return self.dense_layers + self.expert_layers


@dataclass(frozen=True, slots=True)
class OverlapRules:
    """What runs beside computing, decided."""

    gradient_reduce: bool
    parameter_gather: bool
    tensor_parallel: bool
    expert_parallel: bool
    pipeline: bool


@dataclass(frozen=True, slots=True)
class TrainingScene:
    """Everything that a step depends on."""

    model: Model
    system: System
    plan: ParallelismPlan
    stages: tuple[Stage, ...]
    micro_batch_size: int
    global_batch_size: int
    sequence_length: int
    precision: TrainingPrecision
    gradient_reduce_dtype: Dtype
    recompute: Recompute
    recompute_layers: int
    policy: SelectivePolicy
    optimizer: Optimizer
    attention: AttentionKernel
    causal: bool
    dropout: bool
    framework: Framework
    offload: Offload
    cuda_graphs: bool
    context_communication: ContextCommunication
    expert_dispatcher: ExpertDispatcher
    overlap: OverlapRules
    engines: TrainingEngines

    @property
    def micro_batches(self) -> int:
        """Micro-batches of one data-parallel rank in a step."""
        return self.global_batch_size // (self.micro_batch_size * self.plan.data_parallel_size)

    @property
    def tokens(self) -> int:
        """Tokens of a step, all GPUs."""
        return self.global_batch_size * self.sequence_length

    @property
    def recomputed_ratio(self) -> float:
        """Share of the layers that the policy is applied to."""
        if self.recompute is Recompute.NONE:
            return 0.0
        most = max(stage.layers for stage in self.stages)
        return min(1.0, self.recompute_layers / most) if most else 0.0

    @property
    def gathers(self) -> bool:
        """Whether layers' parameters are gathered for every micro-batch."""
        return self.plan.sharding.gathers_parameters and self.plan.replicas > 1

    @property
    def shards_gradients(self) -> bool:
        """Whether gradients are scattered, not summed everywhere."""
        return self.plan.sharding is not Sharding.NONE
