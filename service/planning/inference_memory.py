"""Whether a question fits, how many requests do, and what would make it fit."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from service.core.inference.engine import EngineConstants
from service.core.inference.layout import ServingLayout
from service.core.inference.memory import ServingMemory, activation_bytes, largest_batch, largest_context
from service.core.inference.weights import KvDtype, WeightDtype, weight_bytes_per_gpu
from service.core.transformer.kv_cache import kv_bytes_per_token, kv_sequence_bytes
from service.planning.inference_question import InferenceQuestion, ServingScene
from service.planning.inference_refusals import precision_problems, valid_tensor_parallel_sizes

_NARROWER = (WeightDtype.FP8, WeightDtype.INT8, WeightDtype.NVFP4, WeightDtype.INT4)


@dataclass(frozen=True, slots=True)
class Room:
    """What a replica's memory holds.

    Parameters
    ----------
    most_in_flight : int
        Requests at once, by memory and by the engine's limit; 0: not one.
    memory_limited : bool
        Whether memory, not the engine's limit, sets it.
    context_tokens : int
        Longest single sequence.
    step_tokens : int
        Most tokens of one step.
    shortfall_bytes : float
        What one GPU lacks for the weights and one request; 0 where it fits.
    """

    memory: ServingMemory
    most_in_flight: int
    memory_limited: bool
    context_tokens: int
    step_tokens: int
    shortfall_bytes: float

    @property
    def fits(self) -> bool:
        """Whether at least one request can be served."""
        return self.most_in_flight > 0


def room_of(question: InferenceQuestion, scene: ServingScene, engine: EngineConstants) -> Room:
    """Return what fits beside the weights: the buffers of a step shrink to what a full batch can use of them."""
    a, layout, kv = scene.model.architecture, scene.layout, scene.kv_dtype.size_bytes
    reserved = question.input_sequence_length + engine.reserved_output_ratio * question.output_sequence_length
    limit = engine.most_sequences * layout.pipeline_parallel_size
    wanted = min(question.batch_size or question.concurrency or limit, limit)
    step_tokens = question.chunked_prefill_tokens or engine.step_tokens
    ratio = 1 + question.input_sequence_length / question.output_sequence_length
    used = min(step_tokens, max(question.input_sequence_length + wanted, wanted * ratio))
    memory = _memory(question, scene, engine, used, wanted)
    held = largest_batch(a, layout, memory.kv_bytes, reserved, kv)
    if question.chunked_prefill_tokens is None and held < wanted:  # a smaller batch needs smaller buffers
        used = min(step_tokens, max(question.input_sequence_length + held, held * ratio))
        memory = _memory(question, scene, engine, used, held)
        held = largest_batch(a, layout, memory.kv_bytes, reserved, kv)
    one = kv_sequence_bytes(
        a, question.input_sequence_length + question.output_sequence_length, kv, layout.tensor_parallel_size
    )
    missing = one / layout.pipeline_parallel_size - memory.kv_bytes
    if missing > 0:
        held = 0
    return Room(
        memory=memory,
        most_in_flight=min(held, limit),
        memory_limited=held <= limit,
        context_tokens=largest_context(a, layout, memory.kv_bytes, kv),
        step_tokens=step_tokens,
        shortfall_bytes=max(0.0, missing),
    )


def kv_capacity_tokens(scene: ServingScene, memory: ServingMemory) -> int:
    """Return the tokens that all caches of a replica hold where no window ends one."""
    layout = scene.layout
    each = kv_bytes_per_token(scene.model.architecture, scene.kv_dtype.size_bytes, layout.tensor_parallel_size)
    room = max(0.0, memory.kv_bytes) * layout.pipeline_parallel_size * layout.attention_data_parallel_size
    return int(room / each)


def what_would_fit(question: InferenceQuestion, scene: ServingScene, engine: EngineConstants) -> tuple[str, ...]:
    """Return changes, each enough on its own, in words that name the field."""
    found = []
    for dtype in _NARROWER:
        narrower = dataclasses.replace(question, weight_dtype=dtype, weight_group_size=None)
        smaller = weight_bytes_per_gpu(scene.model.architecture, dtype, scene.layout) < weight_bytes_per_gpu(
            scene.model.architecture, question.weight_dtype, scene.layout, question.weight_group_size
        )
        runs = not list(precision_problems(narrower, scene.system))
        if smaller and runs and room_of(narrower, scene, engine).fits:
            found.append(f"weight_dtype {dtype}")
            break
    if scene.kv_dtype.size_bytes > 1:
        kv = KvDtype.FP8 if "fp8" in scene.system.accelerator.peak_flops_per_second else KvDtype.INT8
        if room_of(question, dataclasses.replace(scene, kv_dtype=kv), engine).fits:
            found.append(f"kv_dtype {kv}")
    tensor = _tensor_parallel_that_fits(question, scene, engine)
    if tensor is not None:
        found.append(f"tensor_parallel_size {tensor}")
    longest = room_of(question, scene, engine).context_tokens
    if longest > question.output_sequence_length:
        found.append(f"input_sequence_length {longest - question.output_sequence_length}")
    elif longest > 1:
        found.append(f"input and output together of {longest} tokens")
    return tuple(found)


def _tensor_parallel_that_fits(question: InferenceQuestion, scene: ServingScene, engine: EngineConstants) -> int | None:
    a, layout, up = scene.model.architecture, scene.layout, scene.system.scale_up
    sizes = valid_tensor_parallel_sizes(a, question.weight_dtype, question.weight_group_size, layout)
    for tensor in sizes:
        gpus = tensor * layout.attention_data_parallel_size
        if layout.tensor_parallel_size < tensor and gpus <= up.domain_gpus and not gpus % layout.expert_parallel_size:
            wider = ServingLayout(
                tensor,
                layout.pipeline_parallel_size,
                layout.attention_data_parallel_size,
                layout.expert_parallel_size,
            )
            if room_of(question, dataclasses.replace(scene, layout=wider), engine).fits:
                return tensor
    return None


def _memory(
    question: InferenceQuestion, scene: ServingScene, engine: EngineConstants, step_tokens: float, sequences: float
) -> ServingMemory:
    a, layout = scene.model.architecture, scene.layout
    capacity = scene.system.accelerator.memory_bytes
    copies = layout.attention_data_parallel_size
    return ServingMemory(
        capacity_bytes=capacity,
        usable_bytes=capacity * engine.memory_ratio,
        weights_bytes=weight_bytes_per_gpu(a, question.weight_dtype, layout, question.weight_group_size),
        runtime_bytes=engine.runtime_bytes,
        activations_bytes=activation_bytes(a, step_tokens / copies, sequences / copies, layout.tensor_parallel_size),
    )
