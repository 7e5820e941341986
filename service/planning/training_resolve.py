"""A training question's names turned into things."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from service.catalog.catalog import Catalog
from service.core.hardware import System
from service.core.training.parallelism import ParallelismPlan, Sharding
from service.core.training.pipeline import even_stages
from service.core.transformer.activations import SelectivePolicy
from service.core.transformer.architecture import Model, TransformerArchitecture
from service.errors import InvalidScenario, StepcastError, all_at_once
from service.planning.training_engines import training_engines
from service.planning.training_question import AttentionKernel, Framework, Overlap, TrainingQuestion
from service.planning.training_refusals import training_problems
from service.planning.training_scene import OverlapRules, Stage, TrainingScene

_T = TypeVar("_T")
USUAL_TOKENS = 4096  # of a sequence, where the question does not say
_USUAL_SHARDING = {
    Framework.MEGATRON: Sharding.ZERO1,
    Framework.DEEPSPEED: Sharding.ZERO1,
    Framework.FSDP: Sharding.ZERO3,
}


def resolve_training(question: TrainingQuestion, catalog: Catalog) -> TrainingScene:
    """Return everything that the step depends on.

    Raises
    ------
    StepcastError
        With every problem found, not the first only.
    """
    refusals: list[StepcastError] = []

    def attempt(step: Callable[[], _T]) -> _T | None:
        try:
            return step()
        except StepcastError as refusal:
            refusals.append(refusal)
            return None

    model = attempt(lambda: catalog.model(question.model))
    system = attempt(lambda: catalog.system(question.system))
    problems = list(training_problems(question, model, system))
    if problems:
        refusals.append(InvalidScenario("; ".join(p.message for p in problems), problems))
    if model is None or system is None or refusals:
        raise all_at_once(refusals)
    return scene_of(question, model, system, catalog)


def scene_of(question: TrainingQuestion, model: Model, system: System, catalog: Catalog) -> TrainingScene:
    """Return the scene of a question that has no problem."""
    plan = plan_of(question)
    stages = stages_of(question, model.architecture)
    return TrainingScene(
        model=model,
        system=system,
        plan=plan,
        stages=stages,
        micro_batch_size=question.micro_batch_size,
        global_batch_size=global_batch_of(question),
        sequence_length=sequence_of(question, model),
        precision=question.precision,
        gradient_reduce_dtype=question.gradient_reduce_dtype,
        recompute=question.recompute,
        recompute_layers=question.recompute_layers or max(s.layers for s in stages),
        policy=_policy(question),
        optimizer=question.optimizer,
        attention=question.attention,
        causal=question.causal,
        dropout=question.dropout,
        framework=question.framework,
        offload=question.offload,
        cuda_graphs=question.cuda_graphs,
        context_communication=question.context_communication,
        expert_dispatcher=question.expert_dispatcher,
        overlap=overlap_of(question.overlap, question),
        engines=training_engines(
            system.accelerator, question.precision, question.attention, question.framework, question.cuda_graphs,
            catalog,
        ),
    )  # fmt: skip


def data_parallel_of(question: TrainingQuestion) -> int:
    """Return the data-parallel ranks: as given, or what the GPUs leave."""
    if question.data_parallel_size is not None:
        return question.data_parallel_size
    others = question.tensor_parallel_size * question.pipeline_parallel_size * question.context_parallel_size
    return max(1, question.gpus // others)


def plan_of(question: TrainingQuestion) -> ParallelismPlan:
    """Return the layout: sequence parallelism goes with tensor parallelism unless it was refused."""
    sharding = question.sharding or _USUAL_SHARDING[question.framework]
    sequence = question.sequence_parallel
    return ParallelismPlan(
        question.tensor_parallel_size,
        question.pipeline_parallel_size,
        question.virtual_pipeline_size,
        question.context_parallel_size,
        question.expert_parallel_size,
        question.expert_tensor_parallel_size,
        data_parallel_of(question),
        (question.tensor_parallel_size > 1) if sequence is None else sequence,
        sharding,
        question.sharding_group_size,
    )


def global_batch_of(question: TrainingQuestion) -> int:
    """Return the sequences of a step: as given, or one micro-batch for every rank and stage."""
    if question.global_batch_size is not None:
        return question.global_batch_size
    return question.micro_batch_size * data_parallel_of(question) * question.pipeline_parallel_size


def sequence_of(question: TrainingQuestion, model: Model) -> int:
    """Return the tokens of a sequence: as given, or 4096 unless the model was made for fewer."""
    longest = model.architecture.max_sequence_length
    return question.sequence_length or min(USUAL_TOKENS, longest or USUAL_TOKENS)


def stages_of(question: TrainingQuestion, architecture: TransformerArchitecture) -> tuple[Stage, ...]:
    """Return each stage's layers by kind: dense layers first, where the model has them first, else spread evenly."""
    a, p = architecture, question.pipeline_parallel_size
    per_stage = question.pipeline_layers or even_stages(a.num_layers, p)
    kinds = _layer_kinds(a)
    stages, start = [], 0
    for i, layers in enumerate(per_stage):
        with_experts = sum(kinds[start : start + layers])
        modules = a.num_mtp_layers if question.multi_token_prediction and i == p - 1 else 0
        stages.append(Stage(layers - with_experts, with_experts, i == 0, i == p - 1, modules))
        start += layers
    return tuple(stages)


def _layer_kinds(a: TransformerArchitecture) -> list[bool]:
    """Whether each layer has experts, in order."""
    if a.moe is None:
        return [False] * a.num_layers
    dense = a.num_dense_layers
    if a.moe.num_dense_first_layers >= dense:
        return [False] * dense + [True] * (a.num_layers - dense)
    share = a.moe.num_moe_layers / a.num_layers
    return [int((i + 1) * share) > int(i * share) for i in range(a.num_layers)]


def _policy(question: TrainingQuestion) -> SelectivePolicy:
    if question.framework is Framework.FSDP:
        return SelectivePolicy.EVERY_OTHER_PRODUCT
    if question.attention is AttentionKernel.UNFUSED:
        return SelectivePolicy.SCORES
    return SelectivePolicy.NORMS_AND_ACTIVATIONS


def overlap_of(asked: Overlap, question: TrainingQuestion) -> OverlapRules:
    """Return what runs beside computing: as asked, else as the framework does it."""
    megatron, fsdp = question.framework is Framework.MEGATRON, question.framework is Framework.FSDP

    def decided(given: bool | None, default: bool) -> bool:
        return default if given is None else given

    return OverlapRules(
        gradient_reduce=decided(asked.gradient_reduce, megatron or fsdp),
        parameter_gather=decided(asked.parameter_gather, megatron or fsdp),
        tensor_parallel=decided(asked.tensor_parallel, False),
        expert_parallel=decided(asked.expert_parallel, False),
        pipeline=decided(asked.pipeline, question.virtual_pipeline_size > 1) and question.virtual_pipeline_size > 1,
    )
