"""What cannot be served at all, each with what could: heads, experts, blocks, lengths and number formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from service.core.hardware import System
from service.core.inference.layout import ServingLayout
from service.core.inference.weights import KvDtype, WeightDtype
from service.core.transformer.architecture import Model, TransformerArchitecture
from service.errors import FieldProblem

if TYPE_CHECKING:
    from service.planning.inference_question import InferenceQuestion

# A format runs on an accelerator that multiplies in it, or unpacks it to one that it multiplies in.
_RUNS_AS: dict[WeightDtype, tuple[str, ...]] = {
    WeightDtype.BF16: ("bf16",),
    WeightDtype.FP16: ("fp16",),
    WeightDtype.FP8: ("fp8",),
    WeightDtype.NVFP4: ("fp4",),
    WeightDtype.MXFP4: ("fp4", "bf16"),  # Marlin and Triton kernels unpack it
    WeightDtype.INT8: ("int8", "bf16"),
    WeightDtype.INT4: ("bf16", "fp16"),
}


def nearest_of(values: list[int], wanted: int) -> int | None:
    """Return the value nearest to what was given; the smaller of two."""
    return min(values, key=lambda v: (abs(v - wanted), v)) if values else None


def divisors(number: int) -> list[int]:
    """Return the whole numbers that divide one."""
    return [n for n in range(1, number + 1) if number % n == 0]


def layout_problems(
    question: InferenceQuestion, model: Model, layout: ServingLayout, gpus: int
) -> Iterator[FieldProblem]:
    """Yield what does not divide: heads, experts, blocks of weights, layers, GPUs."""
    a, t = model.architecture, layout.tensor_parallel_size
    splits = valid_tensor_parallel_sizes(a, question.weight_dtype, question.weight_group_size, layout)
    field = "/tensor_parallel_size"

    def wrong_split(message: str) -> FieldProblem:
        return FieldProblem(field, message, t, splits, nearest_of(splits, t))

    heads = a.num_attention_heads
    if heads % t:
        yield wrong_split(f"{heads} attention heads do not divide by {t}")
    kv = a.num_key_value_heads
    if a.mla is None and not heads % t and kv % t and t % kv:
        yield wrong_split(f"{kv} key-value heads neither divide by {t} nor into it")
    yield from (wrong_split(message) for message in _cut_blocks(a, question, layout))
    yield from _expert_problems(a, layout)
    if layout.pipeline_parallel_size > a.num_layers:
        message = f"{model.id} has {a.num_layers} layers, fewer than stages"
        yield FieldProblem(
            "/pipeline_parallel_size", message, layout.pipeline_parallel_size, {"min": 1, "max": a.num_layers},
            a.num_layers,
        )  # fmt: skip
    if gpus % layout.gpus or gpus < layout.gpus:
        message = f"a replica takes {layout.gpus} GPUs; {gpus} is not a multiple"
        near = max(1, round(gpus / layout.gpus)) * layout.gpus
        yield FieldProblem("/gpus", message, gpus, f"a multiple of {layout.gpus}", near)


def valid_tensor_parallel_sizes(
    architecture: TransformerArchitecture, dtype: WeightDtype, group_size: int | None, layout: ServingLayout
) -> list[int]:
    """Return the tensor-parallel sizes that heads and blocks of weights allow."""
    a = architecture
    kv = a.num_key_value_heads
    fits = [t for t in divisors(a.num_attention_heads) if a.mla is not None or not kv % t or not t % kv]
    block = _block(dtype, group_size)
    if block is None:
        return fits
    return [t for t in fits if not any(w % (t * block) for _, w in _cut_widths(a, layout, t) if not w % block)]


def length_problems(question: InferenceQuestion, model: Model) -> Iterator[FieldProblem]:
    """Yield the lengths that the model was not made for."""
    longest = model.architecture.max_sequence_length
    asked = question.input_sequence_length + question.output_sequence_length
    if longest is not None and asked > longest:
        message = f"{asked} tokens of input and output exceed the {longest} that {model.id} takes"
        room = longest - question.output_sequence_length
        if room >= 1:
            yield FieldProblem(
                "/input_sequence_length", message, question.input_sequence_length, {"min": 1, "max": room}, room
            )
        else:
            yield FieldProblem(
                "/output_sequence_length", message, question.output_sequence_length, {"min": 1, "max": longest - 1},
                max(1, longest - question.input_sequence_length),
            )  # fmt: skip


def precision_problems(question: InferenceQuestion, system: System) -> Iterator[FieldProblem]:
    """Yield the number formats that the accelerator does not have."""
    peaks = system.accelerator.peak_flops_per_second
    has = [str(d) for d in WeightDtype if any(p in peaks for p in _RUNS_AS[d])]
    if str(question.weight_dtype) not in has:
        message = f"{system.accelerator.id} does not multiply {question.weight_dtype}"
        yield FieldProblem("/weight_dtype", message, str(question.weight_dtype), has, _nearest_format(has))
    if question.kv_dtype is KvDtype.FP8 and "fp8" not in peaks:
        allowed = [str(d) for d in KvDtype if d is not KvDtype.FP8]
        message = f"{system.accelerator.id} has no fp8"
        yield FieldProblem("/kv_dtype", message, "fp8", allowed, "int8")


def _nearest_format(has: list[str]) -> Any:
    return next((d for d in ("fp8", "int8", "bf16", "fp16") if d in has), None)


def _block(dtype: WeightDtype, group_size: int | None) -> int | None:
    """Return the parameters that share a scale and so cannot be cut; None where scales are a tensor's or padded."""
    if dtype is WeightDtype.NVFP4:
        return group_size or 16
    if dtype in (WeightDtype.FP8, WeightDtype.INT8):
        return group_size
    return (group_size or 128) if dtype is WeightDtype.INT4 else None


def _cut_widths(a: TransformerArchitecture, layout: ServingLayout, tensor: int) -> Iterator[tuple[str, int]]:
    """Yield the widths that tensor parallelism cuts; experts are cut by what expert parallelism leaves."""
    if a.ffn_hidden_size:
        yield "ffn_hidden_size", a.ffn_hidden_size
    experts = tensor * layout.attention_data_parallel_size
    if a.moe and not experts % layout.expert_parallel_size and experts // layout.expert_parallel_size == tensor:
        yield "expert_ffn_hidden_size", a.moe.expert_ffn_hidden_size


def _cut_blocks(a: TransformerArchitecture, question: InferenceQuestion, layout: ServingLayout) -> Iterator[str]:
    block, t = _block(question.weight_dtype, question.weight_group_size), layout.tensor_parallel_size
    if block is None:
        return
    for name, width in _cut_widths(a, layout, t):
        if not width % block and (width % t or width // t % block):
            yield (
                f"{name} {width} / {t} = {width / t:g} is not a multiple of the {block} weights that share a scale; "
                "expert_parallel_size leaves experts whole"
            )


def _expert_problems(a: TransformerArchitecture, layout: ServingLayout) -> Iterator[FieldProblem]:
    experts, stage, e = a.moe.num_experts if a.moe else 1, layout.stage_gpus, layout.expert_parallel_size
    allowed = [n for n in divisors(stage) if not experts % n]
    field, near = "/expert_parallel_size", nearest_of(allowed, e)
    if a.moe is None and e > 1:
        yield FieldProblem(field, "the model has no experts", e, [1], 1)
        return
    if experts % e:
        yield FieldProblem(field, f"{experts} experts do not divide by {e}", e, allowed, near)
    if stage % e:
        message = f"{stage} GPUs (tensor x attention data parallel) do not divide by {e}"
        yield FieldProblem(field, message, e, allowed, near)
