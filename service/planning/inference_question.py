"""What can be asked about serving, and its names turned into things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from service.catalog.catalog import Catalog
from service.core.hardware import System
from service.core.inference.layout import ServingLayout
from service.core.inference.weights import KvDtype, WeightDtype
from service.core.placement import place
from service.core.transformer.architecture import Model
from service.errors import FieldProblem, InvalidScenario, StepcastError, all_at_once
from service.planning.inference_refusals import layout_problems, length_problems, precision_problems

_T = TypeVar("_T")
USUAL_TOKENS = 1024  # in and out, where neither was said: a chat's, as benchmarks take it
ENGINES = ("trtllm", "vllm", "sglang", "generic")
_EIGHT_BITS_AND_LESS = (WeightDtype.FP8, WeightDtype.NVFP4, WeightDtype.MXFP4)


@dataclass(frozen=True, slots=True)
class Speculation:
    """Speculative decoding: a draft of some tokens, verified in one step.

    Parameters
    ----------
    draft_tokens : int
        Tokens drafted for each step of the model.
    accepted_tokens : float or None
        Tokens that a step yields on average, its own included: between 1 and draft_tokens + 1.
    acceptance_ratio : float or None
        Chance that a drafted token is right, from which the former follows.
    draft_cost_ratio : float
        Time of drafting one token over that of a step without speculation.
    """

    draft_tokens: int = 1
    accepted_tokens: float | None = None
    acceptance_ratio: float | None = None
    draft_cost_ratio: float = 0.03

    @property
    def yielded_tokens(self) -> float:
        """Tokens a step yields: stated, or 1 + α + … + α^k."""
        if self.accepted_tokens is not None:
            return self.accepted_tokens
        alpha = self.acceptance_ratio if self.acceptance_ratio is not None else 0.0
        return sum(alpha**i for i in range(self.draft_tokens + 1))


@dataclass(frozen=True, slots=True)
class Disaggregation:
    """Prefill on replicas of its own.

    Parameters
    ----------
    prefill_tensor_parallel_size : int or None
        Of a prefill replica; None: that of a decode replica.
    kv_bytes_per_second : float or None
        Rate at which one request's cache moves; None: the network between nodes.
    """

    prefill_tensor_parallel_size: int | None = None
    kv_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class InferenceQuestion:
    """What is asked of /v1/estimates/inference. None means: not given, the planner decides.

    Parameters
    ----------
    gpus : int or None
        All GPUs; a multiple of a replica's. None: one replica.
    batch_size : int or None
        Sequences that decode at once in one replica; None with neither concurrency: the largest that fits.
    concurrency : int or None
        Clients of one replica that each send their next request when the last is answered.
    length_spread : float
        Lengths are uniform within this share of their means, either way. [-]
    """

    model: str | Mapping[str, Any]
    system: str | Mapping[str, Any]
    gpus: int | None = None
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int = 1
    expert_parallel_size: int | None = None
    attention_data_parallel_size: int = 1
    engine: str = "generic"
    weight_dtype: WeightDtype = WeightDtype.BF16
    weight_group_size: int | None = None
    kv_dtype: KvDtype | None = None
    input_sequence_length: int = USUAL_TOKENS
    output_sequence_length: int = USUAL_TOKENS
    batch_size: int | None = None
    concurrency: int | None = None
    length_spread: float = 0.0
    chunked_prefill_tokens: int | None = None
    ttft_slo_seconds: float | None = None
    tpot_slo_seconds: float | None = None
    prefix_cache_hit_ratio: float = 0.0
    speculative: Speculation | None = None
    disaggregated: Disaggregation | None = None


@dataclass(frozen=True, slots=True)
class ServingScene:
    """The question's names as things, its defaults filled in."""

    model: Model
    system: System
    layout: ServingLayout
    gpus: int
    kv_dtype: KvDtype

    @property
    def replicas(self) -> int:
        """Whole replicas on the GPUs."""
        return self.gpus // self.layout.gpus


def resolve(question: InferenceQuestion, catalog: Catalog) -> ServingScene:
    """Turn names into things.

    Parameters
    ----------
    question : InferenceQuestion
        As asked.
    catalog : Catalog
        Answers the names.

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
    layout, gpus = layout_of(question, model)
    problems = list(_contradictions(question))
    if model is not None:
        problems += layout_problems(question, model, layout, gpus)
        problems += length_problems(question, model)
    if system is not None:
        problems += precision_problems(question, system)
        attempt(lambda: place(system, layout.gpus) if not gpus % layout.gpus else None)
    if problems:
        refusals.append(InvalidScenario("; ".join(p.message for p in problems), problems))
    if model is None or system is None or refusals:
        raise all_at_once(refusals)
    return ServingScene(model, system, layout, gpus, kv_dtype_of(question, system))


def layout_of(question: InferenceQuestion, model: Model | None) -> tuple[ServingLayout, int]:
    """Return the layout of a replica and all GPUs: tensor parallelism takes what the rest leaves."""
    outer = question.pipeline_parallel_size * question.attention_data_parallel_size
    tensor = question.tensor_parallel_size
    if tensor is None:
        tensor = max(1, (question.gpus or outer) // outer)
    stage = tensor * question.attention_data_parallel_size
    experts = question.expert_parallel_size
    if experts is None:
        deals = model is not None and model.architecture.moe and question.attention_data_parallel_size > 1
        experts = stage if deals else 1
    layout = ServingLayout(tensor, question.pipeline_parallel_size, question.attention_data_parallel_size, experts)
    return layout, question.gpus or layout.gpus


def kv_dtype_of(question: InferenceQuestion, system: System) -> KvDtype:
    """Return the cache's format: fp8 beside weights of 8 bits and less where the accelerator has it, else 16 bits."""
    if question.kv_dtype is not None:
        return question.kv_dtype
    if question.weight_dtype in _EIGHT_BITS_AND_LESS and "fp8" in system.accelerator.peak_flops_per_second:
        return KvDtype.FP8
    return KvDtype.FP16 if question.weight_dtype is WeightDtype.FP16 else KvDtype.BF16


def _contradictions(question: InferenceQuestion) -> list[FieldProblem]:
    found = []
    if question.batch_size is not None and question.concurrency is not None:
        message = "give batch_size or concurrency, not both"
        found.append(FieldProblem("/concurrency", message, question.concurrency, "batch_size or concurrency"))
    found += [
        FieldProblem(f"/{name}", f"{name} must be above zero", 0, {"above": 0}, 1)
        for name in ("ttft_slo_seconds", "tpot_slo_seconds")
        if getattr(question, name) == 0
    ]
    speculative = question.speculative
    if speculative is not None:
        most, stated = speculative.draft_tokens + 1, speculative.accepted_tokens
        if stated is not None and not 1 <= stated <= most:
            message = f"a step with {speculative.draft_tokens} drafted tokens yields between 1 and {most}"
            found.append(
                FieldProblem(
                    "/speculative/accepted_tokens", message, stated, {"min": 1, "max": most}, min(max(stated, 1), most)
                )
            )
        if (stated is None) == (speculative.acceptance_ratio is None):
            message = "give accepted_tokens or acceptance_ratio, exactly one"
            found.append(FieldProblem("/speculative/accepted_tokens", message, stated, "one of the two"))
    return found
