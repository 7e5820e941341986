"""What cannot be trained at all, each with what could: sizes, heads, layers, experts, batches, number formats."""

from __future__ import annotations

from collections.abc import Iterator

from service.core.hardware import System
from service.core.training.parallelism import Sharding
from service.core.training.pipeline import even_stages
from service.core.transformer.architecture import Model, TransformerArchitecture
from service.errors import FieldProblem
from service.planning.inference_refusals import divisors, nearest_of
from service.planning.training_question import TrainingPrecision, TrainingQuestion

_PEAK = {
    TrainingPrecision.BF16: "bf16",
    TrainingPrecision.FP16: "fp16",
    TrainingPrecision.FP8: "fp8",
    TrainingPrecision.MXFP8: "fp8",
    TrainingPrecision.FP4: "fp4",
}


def training_problems(question: TrainingQuestion, model: Model | None, system: System | None) -> Iterator[FieldProblem]:
    """Yield every reason why a layout cannot be, not the first only."""
    yield from _product(question)
    yield from _batches(question)
    yield from _sharding(question)
    if model is not None:
        yield from _heads(question, model.architecture)
        yield from _layers(question, model)
        yield from _experts(question, model.architecture)
    if system is not None:
        yield from _hardware(question, system)


def _others(q: TrainingQuestion) -> int:
    return q.tensor_parallel_size * q.pipeline_parallel_size * q.context_parallel_size


def _data(q: TrainingQuestion) -> int:
    return q.data_parallel_size or max(1, q.gpus // _others(q))


def _product(q: TrainingQuestion) -> Iterator[FieldProblem]:
    others = _others(q)
    if q.gpus % others:
        near = max(1, round(q.gpus / others)) * others
        message = (
            f"tensor {q.tensor_parallel_size} x pipeline {q.pipeline_parallel_size} x context {q.context_parallel_size}"
            f" = {others} does not divide {q.gpus} GPUs"
        )
        yield FieldProblem("/gpus", message, q.gpus, f"a multiple of {others}", near)
    elif q.data_parallel_size is not None and others * q.data_parallel_size != q.gpus:
        message = f"{others} x data {q.data_parallel_size} is not {q.gpus} GPUs"
        yield FieldProblem("/data_parallel_size", message, q.data_parallel_size, [q.gpus // others], q.gpus // others)


def _batches(q: TrainingQuestion) -> Iterator[FieldProblem]:
    if q.global_batch_size is None:
        return
    data = _data(q)
    each = q.micro_batch_size * data
    field, given = "/global_batch_size", q.global_batch_size
    if given < each or given % each:
        message = f"{given} sequences do not divide into micro-batches of {q.micro_batch_size} on {data} ranks"
        yield FieldProblem(field, message, given, f"a multiple of {each}", max(1, round(given / each)) * each)
    elif q.virtual_pipeline_size > 1 and given // each < q.pipeline_parallel_size:
        message = (
            f"an interleaved pipeline of {q.pipeline_parallel_size} stages takes as many micro-batches;"
            f" there are {given // each}"
        )
        least = each * q.pipeline_parallel_size
        yield FieldProblem(field, message, given, {"min": least}, least)


def _sharding(q: TrainingQuestion) -> Iterator[FieldProblem]:
    size, replicas = q.sharding_group_size, _data(q) * q.context_parallel_size
    if size is None:
        return
    field = "/sharding_group_size"
    if q.sharding is not Sharding.HSDP:
        yield FieldProblem(field, "only hsdp has groups", size, "sharding: hsdp", None)
    elif replicas % size:
        allowed = divisors(replicas)
        message = f"{replicas} replicas do not divide into groups of {size}"
        yield FieldProblem(field, message, size, allowed, nearest_of(allowed, size))


def _heads(q: TrainingQuestion, a: TransformerArchitecture) -> Iterator[FieldProblem]:
    t, kv = q.tensor_parallel_size, a.num_key_value_heads
    allowed = [n for n in divisors(a.num_attention_heads) if a.mla is not None or not kv % n or not n % kv]
    if a.num_attention_heads % t:
        message = f"{a.num_attention_heads} attention heads do not divide by {t}"
        yield FieldProblem("/tensor_parallel_size", message, t, allowed, nearest_of(allowed, t))
    elif t not in allowed:
        message = f"{kv} key-value heads neither divide by {t} nor into it"
        yield FieldProblem("/tensor_parallel_size", message, t, allowed, nearest_of(allowed, t))
    length, c = q.sequence_length, q.context_parallel_size
    if length is not None and length % c:
        message = f"{length} tokens do not divide by {c}"
        near = max(1, round(length / c)) * c
        yield FieldProblem("/sequence_length", message, length, f"a multiple of {c}", near)


def _layers(q: TrainingQuestion, model: Model) -> Iterator[FieldProblem]:
    layers, p, v = model.architecture.num_layers, q.pipeline_parallel_size, q.virtual_pipeline_size
    given = q.pipeline_layers
    if p > layers:
        message = f"{model.id} has {layers} layers, fewer than stages"
        yield FieldProblem("/pipeline_parallel_size", message, p, {"min": 1, "max": layers}, layers)
        return
    if v > 1 and p == 1:
        yield FieldProblem("/virtual_pipeline_size", "one stage has nothing to interleave", v, [1], 1)
    if given is not None:
        if len(given) != p or sum(given) != layers:
            message = f"{len(given)} stages of {sum(given)} layers in all; {model.id} has {layers}, over {p} stages"
            near = list(even_stages(layers, p))
            yield FieldProblem("/pipeline_layers", message, list(given), f"{p} numbers, {layers} in all", near)
        return
    allowed = divisors(layers)
    if layers % p:
        stages = list(even_stages(layers, p))
        message = f"{layers} layers do not divide by {p} stages; an uneven split is pipeline_layers, such as {stages}"
        yield FieldProblem("/pipeline_parallel_size", message, p, allowed, nearest_of(allowed, p))
    elif layers // p % v:
        chunks = divisors(layers // p)
        message = f"{layers // p} layers of a stage do not divide into {v} chunks"
        yield FieldProblem("/virtual_pipeline_size", message, v, chunks, nearest_of(chunks, v))
    if q.recompute_layers is not None and q.recompute_layers > -(-layers // p):
        most = -(-layers // p)
        message = f"a stage has {most} layers"
        yield FieldProblem("/recompute_layers", message, q.recompute_layers, {"min": 1, "max": most}, most)


def _experts(q: TrainingQuestion, a: TransformerArchitecture) -> Iterator[FieldProblem]:
    e, cut = q.expert_parallel_size, q.expert_tensor_parallel_size
    stage = q.tensor_parallel_size * q.context_parallel_size * _data(q)
    experts = a.moe.num_experts if a.moe else 1
    allowed = [n for n in divisors(experts) if not stage % (n * cut)] or [1]
    field, near = "/expert_parallel_size", nearest_of(allowed, e)
    if a.moe is None and e * cut > 1:
        yield FieldProblem(field, "the model has no experts", e, [1], 1)
        return
    if experts % e:
        yield FieldProblem(field, f"{experts} experts do not divide by {e}", e, allowed, near)
    if stage % (e * cut):
        message = f"{stage} GPUs of a stage do not divide by {e} x {cut}"
        yield FieldProblem(field, message, e, allowed, near)


def _hardware(q: TrainingQuestion, system: System) -> Iterator[FieldProblem]:
    if q.gpus > system.max_gpus:
        message = f"{system.id} can have at most {system.max_gpus} GPUs"
        yield FieldProblem("/gpus", message, q.gpus, {"min": 1, "max": system.max_gpus}, system.max_gpus)
    peaks = system.accelerator.peak_flops_per_second
    has = [str(each) for each in TrainingPrecision if _PEAK[each] in peaks]
    if str(q.precision) not in has:
        message = f"{system.accelerator.id} does not multiply {q.precision}"
        yield FieldProblem("/precision", message, str(q.precision), has, has[-1] if has else None)
