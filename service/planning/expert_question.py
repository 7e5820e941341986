"""What can be asked of an expert dispatch or combine, and its names turned into things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.catalog.catalog import Catalog
from service.catalog.expert_exchange import WIRE_BYTES
from service.core.collectives.expert_exchange import ExpertKernel, Phase
from service.core.hardware import System
from service.core.numerics import Dtype
from service.core.placement import Placement, place
from service.errors import FieldProblem, InvalidScenario, StepcastError

_DEFAULT_IMPLEMENTATION = "sglang"
_MOST_SIZES_TRIED = 5000


@dataclass(frozen=True, slots=True)
class ExpertQuestion:
    """What is asked of an expert dispatch or combine. None: not given, the planner decides.

    Parameters
    ----------
    tokens : int
        Of one rank.
    expert_parallel_size : int or None
        Ranks of the group; None: all `gpus`.
    kernel : ExpertKernel or None
        None: the fastest that the implementation has.
    sms : int or None
        SMs given to a DeepEP kernel; None: the most that were measured.
    others : Mapping[str, Any]
        Fields of other collectives that were given.
    """

    system: str | Mapping[str, Any]
    collective: Phase
    gpus: int
    tokens: int | None = None
    hidden_size: int | None = None
    top_k: int | None = None
    num_experts: int | None = None
    expert_parallel_size: int | None = None
    gpus_per_node: int | None = None
    dtype: Dtype = Dtype.BF16
    implementation: str = _DEFAULT_IMPLEMENTATION
    kernel: ExpertKernel | None = None
    sms: int | None = None
    overlap_window_seconds: float | None = None
    others: Mapping[str, Any] | None = None


def resolve_experts(question: ExpertQuestion, catalog: Catalog) -> tuple[System, Placement]:
    """Turn names into things; raises StepcastError with every problem found."""
    problems = [*_missing(question), *_not_of_experts(question), *_senseless(question)]
    system = placement = None
    try:
        system = catalog.system(question.system)
        placement = place(system, question.expert_parallel_size or question.gpus, question.gpus_per_node)
        place(system, question.gpus)
    except StepcastError as refusal:
        problems += refusal.problems
    if problems or system is None or placement is None:
        raise InvalidScenario("; ".join(p.message for p in problems), problems)
    return system, placement


def _missing(question: ExpertQuestion) -> Iterator[FieldProblem]:
    for name in ("tokens", "hidden_size", "top_k", "num_experts"):
        if getattr(question, name) is None:
            message = f"{question.collective} needs {name}"
            yield FieldProblem(f"/{name}", message, None, "a whole number from 1")


def _not_of_experts(question: ExpertQuestion) -> Iterator[FieldProblem]:
    for name, value in (question.others or {}).items():
        yield FieldProblem(f"/{name}", f"{question.collective} does not take {name}", value, [None])


def _senseless(question: ExpertQuestion) -> Iterator[FieldProblem]:
    ranks, experts, top_k = question.expert_parallel_size or question.gpus, question.num_experts, question.top_k
    if question.gpus % ranks:
        message = f"{question.gpus} GPUs do not divide into groups of {ranks}"
        sizes = [n for n in range(1, min(question.gpus, _MOST_SIZES_TRIED) + 1) if question.gpus % n == 0]
        closest = min(sizes, key=lambda n: abs(n - ranks))
        yield FieldProblem("/expert_parallel_size", message, ranks, sizes, closest)
    if experts is not None and experts % ranks:
        message = f"{experts} experts do not divide among {ranks} ranks"
        nearest = max(1, round(experts / ranks)) * ranks
        yield FieldProblem("/num_experts", message, experts, f"multiples of {ranks}", nearest)
    if experts is not None and top_k is not None and top_k > experts:
        yield FieldProblem(
            "/top_k", f"a token cannot go to {top_k} of {experts} experts", top_k, {"max": experts}, experts
        )
    if question.dtype.value not in WIRE_BYTES:
        allowed = [d.value for d in Dtype if d.value in WIRE_BYTES]
        yield FieldProblem(
            "/dtype", f"{question.dtype} tokens were not measured", question.dtype.value, allowed, "bf16"
        )
