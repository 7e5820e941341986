"""How fast a model is served: the answer, and the function from the question to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from service import __version__
from service.catalog.catalog import Catalog
from service.catalog.engine_calibrations import EngineResidual
from service.core.inference.batching import SteadyState
from service.core.inference.memory import ServingMemory
from service.core.inference.percentiles import end_to_end_percentiles, tpot_percentiles, ttft_percentiles
from service.core.inference.roofline import RooflineLoad, step_roofline
from service.core.inference.step import StepParts
from service.core.transformer.kv_cache import kv_bytes_per_token, kv_sequence_bytes
from service.planning.estimates import Estimate, EstimateRange, EstimateWarning
from service.planning.inference_derivation import memory_lines, no_room_lines, roofline_lines, serving_lines
from service.planning.inference_memory import Room, kv_capacity_tokens, room_of, what_would_fit
from service.planning.inference_question import InferenceQuestion, ServingScene, resolve
from service.planning.inference_result import (
    CurvePoint,
    Disaggregated,
    InferenceBreakdown,
    InferenceIdeal,
    InferenceMemory,
    InferenceResult,
    LatencyPercentiles,
    StepBreakdown,
)
from service.planning.inference_serving import Serving, serving_of

KIND = "inference"
_COVERAGE_RATIO = 0.9
_LESS_SURE_POWER = 1.5  # of the residuals, where kernels of the accelerator were not measured
_UNFIT = EstimateRange(0.0, 0.0, _COVERAGE_RATIO, "calibrated", "it does not fit: nothing is served")


def estimate_inference(question: InferenceQuestion, catalog: Catalog) -> Estimate:
    """Return how fast a model is served, with its working and its range.

    Parameters
    ----------
    question : InferenceQuestion
        Names or inline entries; what is None is filled in.
    catalog : Catalog
        Answers the names, and holds the calibrations.

    Raises
    ------
    StepcastError
        Every problem of the question at once.
    """
    scene = resolve(question, catalog)
    serving = serving_of(question, scene, catalog)
    if not serving.room.fits:
        return _unfit(question, scene, serving, catalog)
    clients, limited = _clients(question, serving)
    state = serving.at(clients)
    if question.concurrency is not None:
        state = serving.started_together(clients, state)
    rate = state.requests_per_second * scene.replicas
    tokens = rate * question.output_sequence_length
    ideal, load = _ideal(question, scene, clients)
    batch = min(round(clients), serving.room.most_in_flight)
    return Estimate(
        kind=KIND,
        inputs=_inputs(question, scene),
        result=InferenceResult(
            fits=True,
            shortfall_bytes=None,
            would_fit=(),
            max_batch_size=serving.room.most_in_flight,
            max_context_tokens=serving.room.context_tokens,
            batch_size=batch,
            replicas=scene.replicas,
            ttft_seconds=state.ttft_seconds,
            tpot_seconds=state.tpot_seconds,
            output_tokens_per_second=tokens,
            output_tokens_per_second_per_gpu=tokens / scene.gpus,
            output_tokens_per_second_per_user=1 / state.tpot_seconds if state.tpot_seconds > 0 else None,
            requests_per_second=rate,
            queue_wait_seconds=state.queue_seconds,
            meets_slo=serving.meets(state) if _has_limits(question) else None,
            percentiles=LatencyPercentiles(
                ttft_percentiles(state, question.length_spread),
                tpot_percentiles(state, serving.workload),
                end_to_end_percentiles(state, serving.workload, question.length_spread),
            ),
            bound_by=_bound_by(serving, state, load),
            breakdown=_breakdown(serving, state),
            memory=_memory(scene, serving.room.memory),
            disaggregated=_disaggregated(question, scene, serving, state),
        ),
        range=_range(question, scene, catalog, tokens, load, state),
        ideal=ideal,
        derivation=(
            *memory_lines(question, scene, serving.room),
            *roofline_lines(scene, ideal, load),
            *serving_lines(question, scene, serving, state, tokens, catalog.calibrations.engines.source),
        ),
        warnings=tuple(_warnings(question, scene, serving, catalog, limited)),
        engine_version=__version__,
        catalog_revision=catalog.revision,
    )


def inference_curve(question: InferenceQuestion, catalog: Catalog) -> tuple[CurvePoint, ...]:
    """Return throughput against latency, from one request at a time to all that fit; empty where none does."""
    return serving_of(question, resolve(question, catalog), catalog).curve()


def _clients(question: InferenceQuestion, serving: Serving) -> tuple[float, bool]:
    """Return the clients of one replica, and whether the latency limits set their number."""
    if question.concurrency is not None:
        return question.concurrency, False
    if question.batch_size is not None:
        return min(question.batch_size, serving.room.most_in_flight), False
    if _has_limits(question):
        return max(1, serving.largest_within_limits()), True
    return serving.room.most_in_flight, False


def _has_limits(question: InferenceQuestion) -> bool:
    return question.ttft_slo_seconds is not None or question.tpot_slo_seconds is not None


def _ideal(question: InferenceQuestion, scene: ServingScene, clients: float) -> tuple[InferenceIdeal, RooflineLoad]:
    context = question.input_sequence_length + question.output_sequence_length / 2

    def step(sequences: float, prompt: float = 0.0) -> RooflineLoad:
        return step_roofline(
            scene.model.architecture, scene.system.accelerator, scene.layout, question.weight_dtype,
            scene.kv_dtype.size_bytes, sequences=sequences, context_tokens=context, prompt_tokens=prompt,
            prompt_context_tokens=question.input_sequence_length / 2, group_size=question.weight_group_size,
        )  # fmt: skip

    load, single = step(clients), step(1)
    yielded = question.speculative.yielded_tokens if question.speculative else 1.0
    prompt = step(0.0, question.input_sequence_length * (1 - question.prefix_cache_hit_ratio)).seconds
    return (
        InferenceIdeal(
            batch_size=round(clients),
            tpot_seconds=load.seconds / yielded,
            ttft_seconds=prompt,
            output_tokens_per_second=clients * yielded / load.seconds * scene.replicas,
            single_stream_tokens_per_second=1 / single.seconds,
            memory_seconds=load.seconds_of_memory,
            compute_seconds=load.seconds_of_compute,
        ),
        load,
    )


def _bound_by(serving: Serving, state: SteadyState, load: RooflineLoad) -> str:
    """Return what more of would help most: the largest part of a mean step, or the room for more requests."""
    question = serving.question
    asked = question.batch_size or question.concurrency
    if serving.room.memory_limited and (asked is None or asked > serving.room.most_in_flight):
        return "kv_capacity"
    parts = serving.decode_parts(state.sequences)
    if parts.communication > parts.seconds / 2:
        return "communication"
    overhead = parts.layers + parts.host
    if overhead > parts.seconds / 2:
        return "launch"
    if state.mixed_ratio * state.mixed_step_seconds > state.step_seconds / 2:
        return "compute"
    return "hbm" if load.seconds_of_memory >= load.seconds_of_compute else "compute"


def _breakdown(serving: Serving, state: SteadyState) -> InferenceBreakdown:
    decode: StepParts = serving.decode_parts(state.sequences)
    return InferenceBreakdown(
        decode_step=StepBreakdown.of(decode),
        prefill=StepBreakdown.of(serving.prefill_parts()),
        mixed_step_ratio=state.mixed_ratio,
        mixed_step_seconds=state.mixed_step_seconds,
    )


def _memory(scene: ServingScene, memory: ServingMemory) -> InferenceMemory:
    layout = scene.layout
    return InferenceMemory(
        weights_bytes=memory.weights_bytes,
        kv_bytes_per_token=kv_bytes_per_token(scene.model.architecture, scene.kv_dtype.size_bytes),
        kv_bytes=max(0.0, memory.kv_bytes),
        kv_capacity_tokens=kv_capacity_tokens(scene, memory),
        other_bytes=memory.other_bytes,
        usable_bytes=memory.usable_bytes,
        capacity_bytes=memory.capacity_bytes * (layout.gpus / layout.gpus),
    )


def _disaggregated(
    question: InferenceQuestion, scene: ServingScene, serving: Serving, state: SteadyState
) -> Disaggregated | None:
    asked = question.disaggregated
    if asked is None:
        return None
    prompt = serving.prefill_parts().seconds
    decode = serving.decode_parts(state.sequences).seconds
    decode_rate = state.sequences / max(decode * serving.workload.decode_steps, decode)
    ratio = decode_rate * prompt
    tensor = asked.prefill_tensor_parallel_size or scene.layout.tensor_parallel_size
    cache = kv_sequence_bytes(scene.model.architecture, question.input_sequence_length, scene.kv_dtype.size_bytes, 1)
    network = scene.system.scale_out.bandwidth_bytes_per_second if scene.system.scale_out else None
    link = asked.kv_bytes_per_second or network or scene.system.scale_up.bandwidth_bytes_per_second
    return Disaggregated(
        prefill_replicas_per_decode_replica=ratio,
        prefill_gpus=ratio * scene.replicas * scene.layout.gpus * tensor / scene.layout.tensor_parallel_size,
        decode_gpus=float(scene.replicas * scene.layout.gpus),
        kv_transfer_bytes=cache,
        kv_transfer_seconds=cache / link,
    )


def _range(
    question: InferenceQuestion, scene: ServingScene, catalog: Catalog, tokens: float, load: RooflineLoad,
    state: SteadyState,
) -> EstimateRange:  # fmt: skip
    residual = residual_of(question, scene, catalog)
    kernels = catalog.kernels.for_accelerator(scene.system.accelerator)
    low, high = residual.low_ratio, residual.high_ratio
    basis = (
        f"{residual.rows} published serving rows ({residual.name}), residuals in {catalog.calibrations.engines.source}"
    )
    kind = "calibrated"
    if not kernels.measured:
        low, high = low**_LESS_SURE_POWER, high**_LESS_SURE_POWER
        basis += f"; no kernel of {scene.system.accelerator.id} was measured, {kernels.source} stands in"
        kind = "speed_of_light" if "unmeasured" in kernels.source else kind
    yielded = question.speculative.yielded_tokens if question.speculative else 1.0
    bound = max(state.sequences, 1.0) * yielded / load.seconds * scene.replicas
    return EstimateRange(tokens * low, max(tokens, min(tokens * high, bound)), _COVERAGE_RATIO, kind, basis)


def residual_of(question: InferenceQuestion, scene: ServingScene, catalog: Catalog) -> EngineResidual:
    """Return the stratum of published rows that a question belongs to."""
    kind = "latency" if (question.batch_size or question.concurrency) == 1 else "throughput"
    kind = "concurrency" if question.concurrency not in (None, 1) else kind
    family = "dense" if scene.model.architecture.moe is None else "mixture of experts"
    return catalog.calibrations.engines.residual(question.engine, family, kind)


def _unfit(question: InferenceQuestion, scene: ServingScene, serving: Serving, catalog: Catalog) -> Estimate:
    room: Room = room_of(question, scene, serving.replica.engine)
    ideal, _ = _ideal(question, scene, question.batch_size or question.concurrency or 1)
    return Estimate(
        kind=KIND,
        inputs=_inputs(question, scene),
        result=InferenceResult(
            fits=False,
            shortfall_bytes=room.shortfall_bytes,
            would_fit=what_would_fit(question, scene, serving.replica.engine),
            max_batch_size=0,
            max_context_tokens=room.context_tokens,
            batch_size=0,
            replicas=scene.replicas,
            ttft_seconds=None,
            tpot_seconds=None,
            output_tokens_per_second=0.0,
            output_tokens_per_second_per_gpu=0.0,
            output_tokens_per_second_per_user=None,
            requests_per_second=0.0,
            queue_wait_seconds=None,
            meets_slo=None,
            percentiles=None,
            bound_by="kv_capacity",
            breakdown=None,
            memory=_memory(scene, room.memory),
            disaggregated=None,
        ),
        range=_UNFIT,
        ideal=ideal,
        derivation=(*memory_lines(question, scene, room), *no_room_lines(room)),
        warnings=(EstimateWarning("does-not-fit", "the weights, or the cache of one request, are more than there is"),),
        engine_version=__version__,
        catalog_revision=catalog.revision,
    )


def _warnings(
    question: InferenceQuestion, scene: ServingScene, serving: Serving, catalog: Catalog, limited: bool
) -> Iterator[EstimateWarning]:
    room = serving.room
    asked = question.batch_size
    if asked is not None and asked > room.most_in_flight:
        yield EstimateWarning(
            "batch-does-not-fit", f"{asked} sequences do not fit at once; {room.most_in_flight} do, and were taken"
        )
    if question.concurrency is not None and question.concurrency > room.most_in_flight:
        yield EstimateWarning(
            "clients-queue", f"{room.most_in_flight} of {question.concurrency} clients are served at once; others wait"
        )
    if limited and not serving.largest_within_limits():
        yield EstimateWarning("limits-cannot-be-met", "not even one request at a time is within the latency limits")
    if scene.gpus % scene.layout.gpus:
        yield EstimateWarning("gpus-left-over", "the GPUs are no multiple of a replica's")
    kernels = catalog.kernels.for_accelerator(scene.system.accelerator)
    if not kernels.measured:
        yield EstimateWarning(
            "not-measured", f"no kernel of {scene.system.accelerator.id} was measured; those of its generation stand in"
        )
    if scene.model.architecture.moe is not None:
        yield EstimateWarning("balanced-routing", "tokens are spread evenly over the experts; the fullest GPU is later")


def _inputs(question: InferenceQuestion, scene: ServingScene) -> dict[str, Any]:
    layout = scene.layout
    batch: Any = question.batch_size
    if batch is None and question.concurrency is None:
        batch = "max"
    return {
        "model": scene.model.id if isinstance(question.model, str) else question.model,
        "system": scene.system.id if isinstance(question.system, str) else question.system,
        "gpus": scene.gpus,
        "tensor_parallel_size": layout.tensor_parallel_size,
        "pipeline_parallel_size": layout.pipeline_parallel_size,
        "expert_parallel_size": layout.expert_parallel_size,
        "attention_data_parallel_size": layout.attention_data_parallel_size,
        "engine": question.engine,
        "weight_dtype": str(question.weight_dtype),
        "weight_group_size": question.weight_group_size,
        "kv_dtype": str(scene.kv_dtype),
        "input_sequence_length": question.input_sequence_length,
        "output_sequence_length": question.output_sequence_length,
        "batch_size": batch,
        "concurrency": question.concurrency,
        "length_spread": question.length_spread,
        "chunked_prefill_tokens": question.chunked_prefill_tokens,
        "ttft_slo_seconds": question.ttft_slo_seconds,
        "tpot_slo_seconds": question.tpot_slo_seconds,
        "prefix_cache_hit_ratio": question.prefix_cache_hit_ratio,
        "speculative": _stated(question.speculative),
        "disaggregated": _stated(question.disaggregated),
    }


def _stated(part: Any) -> Mapping[str, Any] | None:
    return None if part is None else {name: value for name, value in asdict(part).items() if value is not None}
