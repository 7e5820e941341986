"""What can be asked about a training step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from service.core.numerics import Dtype
from service.core.training.parallelism import Sharding
from service.core.transformer.activations import Recompute


class Framework(StrEnum):
    """Whose rules of overlap and memory."""

    MEGATRON = "megatron"
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"


class TrainingPrecision(StrEnum):
    """What the layers multiply in; router, output head and optimizer stay wider."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"  # a scale for each tensor
    MXFP8 = "mxfp8"  # a scale for each 32 elements
    FP4 = "fp4"  # NVFP4: a scale for each 16 elements


class Optimizer(StrEnum):
    """What an update keeps of each parameter."""

    ADAMW = "adamw"
    ADAMW_BF16_MOMENTS = "adamw_bf16_moments"
    MUON = "muon"
    SGD = "sgd"


class Offload(StrEnum):
    """What waits in the host's memory."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    PARAMETERS = "parameters"
    ACTIVATIONS = "activations"


class AttentionKernel(StrEnum):
    """Whether scores are written to memory."""

    FLASH = "flash"
    UNFUSED = "unfused"


class ContextCommunication(StrEnum):
    """How ranks of a context-parallel group see each other's keys and values."""

    RING = "ring"
    ALL_GATHER = "all_gather"
    ULYSSES = "ulysses"


class ExpertDispatcher(StrEnum):
    """What carries tokens to experts."""

    ALL_TO_ALL = "all_to_all"
    DEEPEP = "deepep"


@dataclass(frozen=True, slots=True)
class Overlap:
    """What runs beside computing; None: as the framework does unasked.

    Parameters
    ----------
    gradient_reduce, parameter_gather : bool or None
        Data parallelism's, behind the last backward and the first forward pass.
    tensor_parallel : bool or None
        Messages cut and multiplied piece by piece (userbuffers, asynchronous TP).
    expert_parallel : bool or None
        Dispatch and combine of one micro-batch behind another's computing.
    pipeline : bool or None
        Hops between stages; only interleaved schedules can.
    """

    gradient_reduce: bool | None = None
    parameter_gather: bool | None = None
    tensor_parallel: bool | None = None
    expert_parallel: bool | None = None
    pipeline: bool | None = None


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """What is asked of /v1/estimates/training-step. None means: not given, the planner decides."""

    model: str | Mapping[str, Any]
    system: str | Mapping[str, Any]
    gpus: int
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    virtual_pipeline_size: int = 1
    context_parallel_size: int = 1
    expert_parallel_size: int = 1
    expert_tensor_parallel_size: int = 1
    data_parallel_size: int | None = None
    sequence_parallel: bool | None = None
    sharding: Sharding | None = None
    sharding_group_size: int | None = None
    micro_batch_size: int = 1
    global_batch_size: int | None = None
    sequence_length: int | None = None
    precision: TrainingPrecision = TrainingPrecision.BF16
    gradient_reduce_dtype: Dtype = Dtype.FP32
    recompute: Recompute = Recompute.NONE
    recompute_layers: int | None = None
    optimizer: Optimizer = Optimizer.ADAMW
    attention: AttentionKernel = AttentionKernel.FLASH
    causal: bool = True
    dropout: bool = False
    framework: Framework = Framework.MEGATRON
    pipeline_layers: tuple[int, ...] | None = None
    offload: Offload = Offload.NONE
    cuda_graphs: bool = False
    context_communication: ContextCommunication = ContextCommunication.RING
    expert_dispatcher: ExpertDispatcher = ExpertDispatcher.DEEPEP
    multi_token_prediction: bool = True
    overlap: Overlap = field(default=Overlap())
    total_tokens: float | None = None

    @staticmethod
    def of(given: Mapping[str, Any]) -> TrainingQuestion:
        """Return the question of JSON fields whose values are known to be of their kind."""
        parts: dict[str, Any] = {k: _KINDS[k](v) if k in _KINDS and v is not None else v for k, v in given.items()}
        if "overlap" in parts:
            parts["overlap"] = Overlap(**parts["overlap"])
        if parts.get("pipeline_layers") is not None:
            parts["pipeline_layers"] = tuple(parts["pipeline_layers"])
        return TrainingQuestion(**parts)


_KINDS: Mapping[str, type[StrEnum]] = {
    "sharding": Sharding,
    "precision": TrainingPrecision,
    "gradient_reduce_dtype": Dtype,
    "recompute": Recompute,
    "optimizer": Optimizer,
    "attention": AttentionKernel,
    "framework": Framework,
    "offload": Offload,
    "context_communication": ContextCommunication,
    "expert_dispatcher": ExpertDispatcher,
}
