"""A collective as NCCL does it: the way it takes, launched one by one or from a CUDA graph."""

from __future__ import annotations

from service.catalog.calibrations import Calibrations
from service.core.collectives.algorithms import Candidate, candidates, chosen
from service.core.collectives.cost import CollectiveCost
from service.core.collectives.path import CollectivePath
from service.core.hardware import System
from service.core.placement import Placement
from service.errors import FieldProblem, UnsupportedCollective
from service.planning.collective_derivation import choice_lines
from service.planning.collective_question import CollectiveQuestion
from service.planning.collective_range import collective_range, in_graph, is_unvalidated
from service.planning.collective_timing import CollectiveCandidate, Timing
from service.planning.estimates import EstimateWarning
from service.planning.nccl_environment import nccl_settings


def nccl_timing(
    question: CollectiveQuestion,
    system: System,
    placement: Placement,
    size_bytes: int,
    path: CollectivePath,
    calibrations: Calibrations,
) -> Timing:
    """Return what NCCL takes, by its own choice or by what the question leaves open of it.

    Raises
    ------
    UnsupportedCollective
        If what was asked for is not available here.
    """
    calibration = calibrations.for_system(system)

    def on(other: CollectivePath) -> tuple[Candidate, ...]:
        return candidates(question.collective, question.dtype, placement.num_ranks, size_bytes, other)

    ways = on(path)
    way, cost = _choose(question, ways)
    bound = cost.bytes_on_wire_per_gpu / path.bandwidth_bytes_per_second
    estimate_range = collective_range(
        system, question.collective, placement, size_bytes, way, ways, calibration, calibrations, bound
    )
    warnings = _warnings(question, system, way, placement, calibration is calibrations.unmeasured)
    if question.launch == "graph":
        estimate_range = in_graph(estimate_range, size_bytes, bound, calibrations.custom_all_reduce)
        warnings += (_GRAPH,)
    return Timing(
        cost=cost,
        algorithm=way.algorithm,
        protocol=way.protocol,
        candidates=nccl_candidates(ways),
        environment=nccl_settings(ways, path, on),
        range=estimate_range,
        derivation=tuple(
            choice_lines(
                way.algorithm,
                way.protocol,
                cost,
                placement.num_ranks,
                size_bytes,
                question.algorithm is not None,
                calibration.source,
            )
        ),
        warnings=warnings,
    )


_GRAPH = EstimateWarning(
    "graph-as-eager",
    "nccl-tests queues launches back to back, which hides the CPU as a CUDA graph does: the time is the same, and only "
    "small buffers may gain; an eager call that the GPU has to wait for takes the CPU's time on top",
)


def nccl_candidates(ways: tuple[Candidate, ...]) -> tuple[CollectiveCandidate, ...]:
    """Return NCCL's ways as the answer lists them."""
    return tuple(
        CollectiveCandidate(w.algorithm, w.protocol, w.cost.seconds if w.cost else None, bool(w.cost), w.why_not)
        for w in ways
    )


def _choose(question: CollectiveQuestion, ways: tuple[Candidate, ...]) -> tuple[Candidate, CollectiveCost]:
    """Return NCCL's choice among what the caller left open."""
    asked = tuple(
        w for w in ways if question.algorithm in (None, w.algorithm) and question.protocol in (None, w.protocol)
    )
    if not any(w.cost for w in asked):
        why = next((w.why_not for w in asked if w.why_not), "no such combination of algorithm and protocol")
        field = "algorithm" if question.algorithm is not None else "protocol"
        value = getattr(question, field).value
        allowed = ["auto", *dict.fromkeys(getattr(w, field).value for w in ways if w.cost)]
        raise UnsupportedCollective(why, [FieldProblem(f"/{field}", why, value, allowed, "auto")])
    way = chosen(asked)
    if way.cost is None:
        raise UnsupportedCollective("no way is available")
    return way, way.cost


def _warnings(
    question: CollectiveQuestion, system: System, way: Candidate, placement: Placement, unmeasured: bool
) -> tuple[EstimateWarning, ...]:
    found: list[EstimateWarning] = []
    if unmeasured:
        found.append(
            EstimateWarning(
                "not-measured",
                f"no published measurement of {system.accelerator.id} on {system.scale_up.network} was found: "
                "NCCL's latencies and 80 % of the link stand in",
            )
        )
    if is_unvalidated(question.collective, way.algorithm, placement.num_domains):
        found.append(
            EstimateWarning(
                "unvalidated",
                f"no public table shows {question.collective} by {way.algorithm} at this scale",
            )
        )
    return tuple(found)
