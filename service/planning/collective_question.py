"""What can be asked about a collective, and its names turned into things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from service.catalog.calibrations import Calibrations, version_of
from service.catalog.catalog import Catalog
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.hardware import System
from service.core.numerics import Dtype
from service.core.placement import Placement, place
from service.core.transformer.parameters import total_parameters
from service.errors import FieldProblem, InvalidScenario, StepcastError, UnsupportedCollective, UnsupportedPrecision
from service.planning.framework_question import refuse_framework

_T = TypeVar("_T")
_REDUCING = frozenset({Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.REDUCE})


@dataclass(frozen=True, slots=True)
class CollectiveQuestion:
    """What is asked of /v1/estimates/collective. None means: not given, the planner decides.

    Parameters
    ----------
    system, model : str or Mapping
        A catalogue id or alias, or an inline entry of the shape that the catalogue gives out.
    size_bytes : int or None
        The size column of nccl-tests; or `model` for the whole gradient buffer, never both. [B]
    """

    system: str | Mapping[str, Any]
    collective: Collective
    gpus: int
    gpus_per_node: int | None = None
    size_bytes: int | None = None
    model: str | Mapping[str, Any] | None = None
    dtype: Dtype = Dtype.BF16
    algorithm: Algorithm | None = None  # None: auto
    protocol: Protocol | None = None  # None: auto
    launch: str = "eager"
    implementation: str = "nccl"
    registered_buffers: bool = False
    nccl_version: str | None = None
    overlap_window_seconds: float | None = None
    others: Mapping[str, Any] | None = None  # of expert dispatch and combine


@dataclass(frozen=True, slots=True)
class Buffer:
    """What is on the wire: a size, and the model whose gradients it is."""

    size_bytes: int
    model_id: str | None
    parameters: int | None


def resolve(question: CollectiveQuestion, catalog: Catalog) -> tuple[System, Placement, Buffer]:
    """Turn names into things.

    Parameters
    ----------
    question : CollectiveQuestion
        As asked.
    catalog : Catalog
        Answers the names.

    Raises
    ------
    StepcastError
        With every problem found, not the first only.
    """
    problems: list[FieldProblem] = []
    refusals: list[StepcastError] = []

    def attempt(step: Callable[[], _T]) -> _T | None:
        try:
            return step()
        except StepcastError as refusal:
            refusals.append(refusal)
            problems.extend(refusal.problems)
            return None

    buffer = attempt(lambda: buffer_of(question, catalog))
    system = attempt(lambda: catalog.system(question.system))
    placement = attempt(lambda: place(system, question.gpus, question.gpus_per_node)) if system else None
    if system:
        attempt(lambda: _refuse_unsummable(question, system))
        attempt(lambda: _refuse_nccl(question, system, catalog.calibrations))
    attempt(lambda: _refuse_what_experts_take(question))
    attempt(lambda: refuse_framework(question, system, placement, catalog.calibrations.custom_all_reduce))
    if system is None or placement is None or buffer is None or refusals:
        if len(refusals) == 1:
            raise refusals[0]
        kinds = {type(refusal) for refusal in refusals}
        kind = kinds.pop() if len(kinds) == 1 else InvalidScenario
        raise kind("; ".join(refusal.detail for refusal in refusals), problems)
    return system, placement, buffer


def _refuse_nccl(question: CollectiveQuestion, system: System, calibrations: Calibrations) -> None:
    """Refuse an NCCL that does not know the GPU, and NCCL's settings where other kernels run."""
    problems = []
    first = calibrations.first_nccl_version(system)
    if question.nccl_version is not None and version_of(question.nccl_version) < first:
        known = ".".join(map(str, first))
        message = f"NCCL knows {system.accelerator.id} from {known} on"
        problems.append(FieldProblem("/nccl_version", message, question.nccl_version, f"{known} and later", known))
    if question.implementation != "nccl" and question.registered_buffers:
        message = f"{question.implementation} registers its own buffers; registered_buffers is NCCL's"
        problems.append(FieldProblem("/registered_buffers", message, True, [False], False))
    if problems:
        raise UnsupportedCollective("; ".join(p.message for p in problems), problems)


def _refuse_what_experts_take(question: CollectiveQuestion) -> None:
    problems = [
        FieldProblem(f"/{name}", f"{question.collective} does not take {name}; expert_dispatch does", value, [None])
        for name, value in (question.others or {}).items()
    ]
    if problems:
        raise InvalidScenario("; ".join(p.message for p in problems), problems)


def buffer_of(question: CollectiveQuestion, catalog: Catalog) -> Buffer:
    """Return the bytes asked about: a size, or one gradient for each parameter of a model."""
    if (question.size_bytes is None) == (question.model is None):
        both = question.size_bytes is not None
        message = (
            "give size_bytes or model, not both" if both else "give size_bytes, or model for its whole gradient buffer"
        )
        raise InvalidScenario(
            message, [FieldProblem("/size_bytes", message, question.size_bytes, "size_bytes or model, exactly one")]
        )
    if question.model is None:
        return Buffer(question.size_bytes or 0, None, None)
    model = catalog.model(question.model)
    parameters = total_parameters(model.architecture)
    return Buffer(parameters * question.dtype.size_bytes, model.id, parameters)


def _refuse_unsummable(question: CollectiveQuestion, system: System) -> None:
    if question.dtype is Dtype.FP8 and question.collective in _REDUCING:
        peaks = system.accelerator.peak_flops_per_second
        if "fp8" not in peaks:
            message = f"{system.accelerator.id} does not add fp8"
            raise UnsupportedPrecision(
                message,
                [FieldProblem("/dtype", message, question.dtype.value, ["fp32", "fp16", "bf16", "int8"], "bf16")],
            )
