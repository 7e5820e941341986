"""What a serving framework's all-reduce kernels cannot be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from service.catalog.custom_all_reduce import CustomAllReduce
from service.core.collectives.cost import Collective
from service.core.collectives.custom_all_reduce import KERNELS, SUMMED
from service.core.hardware import System
from service.core.placement import Placement
from service.errors import FieldProblem, UnsupportedCollective

if TYPE_CHECKING:
    from service.planning.collective_question import CollectiveQuestion


def refuse_framework(
    question: CollectiveQuestion, system: System | None, placement: Placement | None, frameworks: CustomAllReduce
) -> None:
    """Refuse an implementation where its kernels are not known, and its algorithms where NCCL is asked.

    Parameters
    ----------
    system, placement : System, Placement or None
        As far as they could be made out.

    Raises
    ------
    UnsupportedCollective
        With every problem.
    """
    if question.implementation == "nccl":
        problems = list(_not_of_nccl(question))
    else:
        problems = [*_not_of_frameworks(question), *_not_here(question, system, placement, frameworks)]
    if problems:
        raise UnsupportedCollective("; ".join(p.message for p in problems), problems)


def _not_of_nccl(question: CollectiveQuestion) -> Iterator[FieldProblem]:
    if question.algorithm in KERNELS:
        message = f"{question.algorithm} is a kernel of serving frameworks: name one as implementation"
        allowed = ["auto", *(a.value for a in type(question.algorithm) if a not in KERNELS)]
        yield FieldProblem("/algorithm", message, question.algorithm.value, allowed, "auto")


def _not_of_frameworks(question: CollectiveQuestion) -> Iterator[FieldProblem]:
    name = question.implementation
    if question.collective is not Collective.ALL_REDUCE:
        message = f"{name}'s own kernels are all-reduces; {question.collective} is NCCL's"
        yield FieldProblem("/implementation", message, name, ["nccl"], "nccl")
    if question.dtype not in SUMMED:
        message = f"{name}'s kernels do not add {question.dtype}"
        yield FieldProblem("/dtype", message, question.dtype.value, sorted(d.value for d in SUMMED), "bf16")
    if question.algorithm is not None and question.algorithm not in KERNELS:
        message = f"{question.algorithm} is NCCL's; {name} has {', '.join(KERNELS)}"
        yield FieldProblem("/algorithm", message, question.algorithm.value, ["auto", *KERNELS], "auto")
    if question.protocol is not None:
        message = f"protocols are NCCL's; {name}'s kernels have none"
        yield FieldProblem("/protocol", message, question.protocol.value, ["auto"], "auto")


def _not_here(
    question: CollectiveQuestion, system: System | None, placement: Placement | None, frameworks: CustomAllReduce
) -> Iterator[FieldProblem]:
    name = question.implementation
    kernels = frameworks.kernels(name, system) if system else None
    if system and kernels is None:
        message = f"nothing was measured of {name}'s kernels on {system.accelerator.id} over {system.scale_up.network}"
        yield FieldProblem("/implementation", message, name, ["nccl"], "nccl")
    if kernels is None or placement is None or placement.num_ranks == 1:
        return
    counts = sorted(kernels.bands)
    if placement.num_domains > 1:
        message = f"{name}'s kernels stay inside one NVLink domain; {placement.num_ranks} GPUs are in "
        message += str(placement.num_domains)
        yield FieldProblem("/gpus", message, placement.num_ranks, counts, counts[-1])
    elif placement.num_ranks not in counts:
        message = f"{name} has kernels for {', '.join(map(str, counts))} GPUs"
        nearest = min(counts, key=lambda count: abs(count - placement.num_ranks))
        yield FieldProblem("/gpus", message, placement.num_ranks, counts, nearest)
