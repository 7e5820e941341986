"""An all-reduce as a serving framework does it: its own kernel while the buffer is small, NCCL above."""

from __future__ import annotations

from collections.abc import Iterator

from service.catalog.calibrations import Calibrations
from service.core.collectives.algorithms import candidates, chosen
from service.core.collectives.cost import CollectiveCost
from service.core.collectives.custom_all_reduce import (
    NCCL,
    FrameworkKernels,
    eager_cost,
    kernel_cost,
    kernel_for,
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
    ways = candidates(question.collective, question.dtype, n, size_bytes, path)
    return Timing(
        cost=cost,
        algorithm=constants.algorithm,
        protocol=None,
        candidates=(*_candidates(question, framework, kernel, placement.num_ranks, size_bytes, path),
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
    bands = framework.bands[num_ranks]
    able = {framework.kernels[band.kernel].algorithm: band.kernel for band in bands if band.kernel != NCCL}
    largest = max(band.up_to_bytes for band in bands)
    if question.algorithm in able and size_bytes <= largest:
        return able[question.algorithm]
    taken = "NCCL" if usual == NCCL else usual
    why = f"{framework.implementation} takes {taken} for {size_bytes} B on {num_ranks} GPUs"
    problem = FieldProblem(
        "/algorithm", why, question.algorithm.value, ["auto", *(algorithm.value for algorithm in able)], "auto"
    )
    raise UnsupportedCollective(why, [problem])


def _candidates(
    question: CollectiveQuestion, framework: FrameworkKernels, kernel: str, num_ranks: int, size_bytes: int,
    path: CollectivePath,
) -> Iterator[CollectiveCandidate]:  # fmt: skip
    """Yield the framework's kernels for this count of GPUs, timed as they would be launched."""
    bands = framework.bands[num_ranks]
    largest = max(band.up_to_bytes for band in bands)
    for name in dict.fromkeys(band.kernel for band in bands if band.kernel != NCCL):
        constants = framework.kernels[name]
        if size_bytes > largest and name != kernel:
            why = f"larger than {framework.implementation}'s shared buffer: it hands over to NCCL"
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
    ways = candidates(question.collective, question.dtype, n, size_bytes, path)
    way = chosen(ways)
    if way.cost is None:
        raise UnsupportedCollective("no way is available")
    eager = question.launch == "eager"
    cost: CollectiveCost = eager_cost(framework, NCCL, size_bytes, way.cost) if eager else way.cost
    bound = cost.bytes_on_wire_per_gpu / path.bandwidth_bytes_per_second
    width = collective_range(
        system, question.collective, placement, size_bytes, way, ways, calibration, calibrations, bound
    ).shifted(cost.seconds - way.cost.seconds)
    return Timing(
        cost=cost,
        algorithm=way.algorithm,
        protocol=way.protocol,
        candidates=(*_candidates(question, framework, NCCL, n, size_bytes, path), *nccl_candidates(ways)),
        environment=nccl_settings(ways),
        range=width if eager else in_graph(width, size_bytes, bound, calibrations.custom_all_reduce),
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


def _warnings(
    question: CollectiveQuestion, system: System, placement: Placement, calibrations: Calibrations
) -> Iterator[EstimateWarning]:
    mine = calibrations.custom_all_reduce.calibration(question.implementation, system)
    if mine is None:
        return
    yield EstimateWarning(
        "framework-version",
        f"kernels and thresholds are those of {question.implementation} {mine.version}; other versions differ by a "
        "fifth in the median, and choose otherwise",
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
