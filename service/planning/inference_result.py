"""The answer of /v1/estimates/inference; field names are those of the API."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.inference.percentiles import Percentiles
from service.core.inference.step import StepParts


@dataclass(frozen=True, slots=True)
class LatencyPercentiles:
    """What half, nine of ten and 99 of 100 requests stay within."""

    ttft_seconds: Percentiles
    tpot_seconds: Percentiles
    end_to_end_seconds: Percentiles


@dataclass(frozen=True, slots=True)
class StepBreakdown:
    """Exclusive parts of one step; they sum to `seconds`."""

    seconds: float
    matrices_seconds: float
    experts_seconds: float
    output_head_seconds: float
    decode_attention_seconds: float
    prefill_attention_seconds: float
    communication_seconds: float
    element_wise_seconds: float
    layers_seconds: float
    host_seconds: float

    @staticmethod
    def of(parts: StepParts, scale: float = 1.0) -> StepBreakdown:
        """Return the parts under the API's names, each `scale` times."""
        return StepBreakdown(
            parts.seconds * scale,
            parts.matrices * scale,
            parts.experts * scale,
            parts.output_head * scale,
            parts.decode_attention * scale,
            parts.prefill_attention * scale,
            parts.communication * scale,
            parts.element_wise * scale,
            parts.layers * scale,
            parts.host * scale,
        )


@dataclass(frozen=True, slots=True)
class InferenceBreakdown:
    """One decode step at the batch, and one prompt's prefill alone."""

    decode_step: StepBreakdown
    prefill: StepBreakdown
    mixed_step_ratio: float
    mixed_step_seconds: float


@dataclass(frozen=True, slots=True)
class InferenceMemory:
    """The fullest GPU; the cache's capacity is the replica's."""

    weights_bytes: float
    kv_bytes_per_token: float
    kv_bytes: float
    kv_capacity_tokens: int
    other_bytes: float
    usable_bytes: float
    capacity_bytes: float


@dataclass(frozen=True, slots=True)
class Disaggregated:
    """How GPUs divide between prefill and decode so that neither waits."""

    prefill_replicas_per_decode_replica: float
    prefill_gpus: float
    decode_gpus: float
    kv_transfer_bytes: float
    kv_transfer_seconds: float


@dataclass(frozen=True, slots=True)
class InferenceResult:
    """The answer. Rates are of all GPUs; `batch_size` and what goes with it are of one replica."""

    fits: bool
    shortfall_bytes: float | None
    would_fit: tuple[str, ...]
    max_batch_size: int
    max_context_tokens: int
    batch_size: int
    replicas: int
    ttft_seconds: float | None
    tpot_seconds: float | None
    output_tokens_per_second: float
    output_tokens_per_second_per_gpu: float
    output_tokens_per_second_per_user: float | None
    requests_per_second: float
    queue_wait_seconds: float | None
    meets_slo: bool | None
    percentiles: LatencyPercentiles | None
    bound_by: str
    breakdown: InferenceBreakdown | None
    memory: InferenceMemory
    disaggregated: Disaggregated | None


@dataclass(frozen=True, slots=True)
class InferenceIdeal:
    """The roofline: datasheet bandwidth and dense peaks, nothing else; at the batch that was asked for."""

    batch_size: int
    tpot_seconds: float
    ttft_seconds: float
    output_tokens_per_second: float
    single_stream_tokens_per_second: float
    memory_seconds: float
    compute_seconds: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One batch of the throughput-latency curve; `pareto`: no other is better in both."""

    batch_size: int
    ttft_seconds: float
    tpot_seconds: float
    output_tokens_per_second: float
    output_tokens_per_second_per_gpu: float
    output_tokens_per_second_per_user: float
    pareto: bool
