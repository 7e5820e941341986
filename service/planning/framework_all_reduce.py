"""An all-reduce as a serving framework does it: its own kernel while the buffer is small, NCCL above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from service.catalog.calibrations import Calibrations
from service.core.collectives.algorithms import Candidate, candidates, chosen
from service.core.collectives.custom_all_reduce import (
    NCCL,
    FrameworkKernels,
    eager_cost,
    kernel_cost,
    kernel_for,
    why_not,
)
from service.core.collectives.path import CollectivePath
from service.core.hardware import System
from service.core.placement import Placement
from service.errors import FieldProblem, UnsupportedCollective
from service.planning.collective_derivation import choice_lines, kernel_lines
from service.planning.collective_question import CollectiveQuestion
from service.planning.collective_range import collective_range, framework_range, in_graph
from service.planning.collective_timing import CollectiveCandidate, Timing
from service.planning.estimates import EstimateWarning
from service.planning.nccl_collective import nccl_candidates
from service.planning.nccl_environment import nccl_settings


def framework_timing(
    question: CollectiveQuestion,
    system: System,
    placement: Placement,
    size_bytes: int,
    path: CollectivePath,
    calibrations: Calibrations,
) -> Timing:
    """Return what a framework's all-reduce takes.

    Raises
    ------
    UnsupportedCollective
        If the kernel that was asked for is not among the framework's for this count and size.
    """
    framework = _framework(question, system, calibrations)
    kernel = _kernel(question, framework, placement.num_ranks, size_bytes, path)
    if kernel == NCCL:
        return _handed_over(question, system, placement, size_bytes, path, calibrations, framework)
    constants, n, link = framework.kernels[kernel], placement.num_ranks, path.bandwidth_bytes_per_second
    on_gpu = kernel_cost(constants, n, size_bytes, link)
    cost = on_gpu if question.launch == "graph" else eager_cost(framework, kernel, size_bytes, on_gpu)
    found = calibrations.custom_all_reduce
    ways = _launched(
        question, framework, size_bytes, candidates(question.collective, question.dtype, n, size_bytes, path)
    )
    return Timing(
        cost=cost,
        algorithm=constants.algorithm,
        protocol=None,
        candidates=(*_candidates(question, framework, n, size_bytes, path),
                    *nccl_candidates(ways)),
        environment=(),
        range=framework_range(question, system, placement, size_bytes, cost, on_gpu, path, calibrations),
        derivation=tuple(
            kernel_lines(question.implementation, kernel, constants, n, cost, on_gpu, size_bytes,
                         question.launch == "graph", framework, found.source)
        ),
        warnings=tuple(_warnings(question, system, placement, calibrations)),
    )  # fmt: skip


def _framework(question: CollectiveQuestion, system: System, calibrations: Calibrations) -> FrameworkKernels:
    framework = calibrations.custom_all_reduce.kernels(question.implementation, system)
    if framework is None:  # the question is refused before
        raise UnsupportedCollective(f"{question.implementation} is not known on {system.id}")
    return framework


def _kernel(
    question: CollectiveQuestion, framework: FrameworkKernels, num_ranks: int, size_bytes: int, path: CollectivePath
) -> str:
    """Return the kernel that is taken: the framework's choice, or the one asked for."""
    usual = kernel_for(framework, question.dtype, num_ranks, size_bytes, switch_adds=path.nvls is not None)
    if question.algorithm is None:
        return usual
    if usual != NCCL and framework.kernels[usual].algorithm is question.algorithm:
        return usual
    switch_adds = path.nvls is not None
    able = [
        name
        for name in _kernels(framework, num_ranks)
        if why_not(framework, name, question.dtype, num_ranks, size_bytes, switch_adds=switch_adds) is None
    ]
    for name in able:
        if framework.kernels[name].algorithm is question.algorithm:
            return name
    why = f"{framework.implementation} has no {question.algorithm} for {size_bytes} B on {num_ranks} GPUs here"
    allowed = ["auto", *dict.fromkeys(framework.kernels[name].algorithm.value for name in able)]
    problem = FieldProblem("/algorithm", why, question.algorithm.value, allowed, "auto")
    raise UnsupportedCollective(why, [problem])


def _kernels(framework: FrameworkKernels, num_ranks: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(band.kernel for band in framework.bands[num_ranks] if band.kernel != NCCL))


def _candidates(
    question: CollectiveQuestion, framework: FrameworkKernels, num_ranks: int, size_bytes: int, path: CollectivePath
) -> Iterator[CollectiveCandidate]:
    """Yield the framework's kernels for this count of GPUs, timed as they would be launched."""
    for name in _kernels(framework, num_ranks):
        constants = framework.kernels[name]
        why = why_not(framework, name, question.dtype, num_ranks, size_bytes, switch_adds=path.nvls is not None)
        if why is not None:
            yield CollectiveCandidate(constants.algorithm, None, None, False, why)
            continue
        cost = kernel_cost(constants, num_ranks, size_bytes, path.bandwidth_bytes_per_second)
        timed = cost if question.launch == "graph" else eager_cost(framework, name, size_bytes, cost)
        yield CollectiveCandidate(constants.algorithm, None, timed.seconds, True)


def _handed_over(
    question: CollectiveQuestion,
    system: System,
    placement: Placement,
    size_bytes: int,
    path: CollectivePath,
    calibrations: Calibrations,
    framework: FrameworkKernels,
) -> Timing:
    """Time what the framework gives to NCCL."""
    n, calibration = placement.num_ranks, calibrations.for_system(system)
    back_to_back = candidates(question.collective, question.dtype, n, size_bytes, path)
    ways = _launched(question, framework, size_bytes, back_to_back)
    way, usual = chosen(ways), chosen(back_to_back)
    if way.cost is None or usual.cost is None:
        raise UnsupportedCollective("no way is available")
    cost, bound = way.cost, usual.cost.bytes_on_wire_per_gpu / path.bandwidth_bytes_per_second
    width = collective_range(
        system, question.collective, placement, size_bytes, usual, back_to_back, calibration, calibrations, bound
    )
    if question.launch == "graph":
        width = in_graph(width, size_bytes, bound, calibrations.custom_all_reduce)
    return Timing(
        cost=cost,
        algorithm=way.algorithm,
        protocol=way.protocol,
        candidates=(*_candidates(question, framework, n, size_bytes, path), *nccl_candidates(ways)),
        environment=nccl_settings(ways),
        range=width.shifted(cost.seconds - usual.cost.seconds),
        derivation=tuple(choice_lines(way.algorithm, way.protocol, cost, n, size_bytes, False, calibration.source)),
        warnings=(
            EstimateWarning(
                "handed-to-nccl",
                f"{question.implementation} has no kernel for {size_bytes} B of {question.dtype} on {n} of these GPUs "
                "and leaves it to NCCL",
            ),
            *_warnings(question, system, placement, calibrations),
        ),
    )


def _launched(
    question: CollectiveQuestion, framework: FrameworkKernels, size_bytes: int, ways: tuple[Candidate, ...]
) -> tuple[Candidate, ...]:
    """Return NCCL's ways as the framework launches them; nccl-tests, which they are timed as, hides the CPU."""
    if question.launch == "graph":
        return ways
    return tuple(replace(w, cost=eager_cost(framework, NCCL, size_bytes, w.cost)) if w.cost else w for w in ways)


def _warnings(
    question: CollectiveQuestion, system: System, placement: Placement, calibrations: Calibrations
) -> Iterator[EstimateWarning]:
    mine = calibrations.custom_all_reduce.calibration(question.implementation, system)
    if mine is None:
        return
    yield EstimateWarning(
        "framework-version",
        f"kernels and thresholds are those of {question.implementation} {mine.version}; another version may choose "
        "otherwise",
    )
    if question.launch == "eager" and not mine.eager_measured:
        yield EstimateWarning(
            "not-measured", f"no eager row of {question.implementation} was found: the CPU's time is that of vLLM"
        )
    if placement.num_nodes > 1:
        yield EstimateWarning(
            "not-measured",
            f"{placement.num_nodes} hosts: the kernels reach peers' memory inside one host; over trays of one NVLink "
            "domain they need fabric handles, of which no row was found",
        )
