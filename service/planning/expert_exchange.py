"""How long an expert dispatch or combine takes: the answer, and the function from the question to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from service import __version__
from service.catalog.catalog import Catalog
from service.catalog.expert_exchange import WIRE_BYTES, ExchangeCalibration, token_bytes
from service.core.collectives.algorithms import Candidate, candidates, chosen
from service.core.collectives.cost import Collective, CollectiveCost
from service.core.collectives.expert_exchange import ExpertKernel, exchange, expert_traffic
from service.core.collectives.path import CollectivePath
from service.core.hardware import System
from service.core.placement import Placement
from service.errors import FieldProblem, UnsupportedCollective
from service.planning.collective import CollectiveIdeal, CollectiveResult
from service.planning.collective_range import collective_range
from service.planning.collective_timing import CollectiveCandidate
from service.planning.estimates import DerivationLine, Estimate, EstimateRange, EstimateWarning
from service.planning.expert_question import ExpertQuestion, resolve_experts

KIND = "collective"
NCCL = "nccl"
_LESS_SURE_POWER = 1.5  # of the residuals, where the board, the group or the dtype is not one that was measured
_COVERAGE_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Way:
    """A kernel on the path: what it takes, by which constants, and before it what prepares it."""

    kernel: ExpertKernel
    cost: CollectiveCost | None
    calibration: ExchangeCalibration | None = None
    prepare_seconds: float = 0.0
    why_not: str | None = None


def estimate_expert_exchange(question: ExpertQuestion, catalog: Catalog) -> Estimate:
    """Return how long one phase takes, with its working and its range.

    Raises
    ------
    StepcastError
        Every problem of the question at once.
    """
    system, placement = resolve_experts(question, catalog)
    return estimate_exchange_on(question, system, placement, catalog)


def estimate_exchange_on(question: ExpertQuestion, system: System, placement: Placement, catalog: Catalog) -> Estimate:
    """Return the same for things instead of names."""
    path = catalog.calibrations.collective_path(system, placement)
    ways = tuple(exchange_ways(question, system, placement, path, catalog))
    way = _choose(question, ways)
    cost = _with_prepare(way)
    buffer = _buffer_bytes(question)
    wire = cost.bytes_on_wire_per_gpu
    link = path.bandwidth_bytes_per_second
    bound = _bound_seconds(question, placement, path)
    return Estimate(
        kind=KIND,
        inputs=_inputs(question, system, placement),
        result=CollectiveResult(
            seconds=cost.seconds,
            exposed_seconds=None
            if question.overlap_window_seconds is None
            else max(0.0, cost.seconds - question.overlap_window_seconds),
            algbw_bytes_per_second=buffer / cost.seconds if cost.seconds else 0.0,
            busbw_bytes_per_second=wire / cost.seconds if cost.seconds else 0.0,
            bytes_on_wire_per_gpu=wire,
            algorithm=way.kernel,
            protocol=None,
            steps=cost.steps,
            latency_seconds=cost.latency_seconds,
            bandwidth_seconds=cost.bandwidth_seconds,
            bottleneck=_bottleneck(cost, placement),
            size_bytes=round(buffer),
            candidates=tuple(
                CollectiveCandidate(
                    w.kernel, None, _with_prepare(w).seconds if w.cost else None, bool(w.cost), w.why_not
                )
                for w in ways
            ),
        ),
        range=_range(question, system, placement, way, cost, path, catalog, bound),
        ideal=CollectiveIdeal(bound, bound / 2, link, 2 * link),
        derivation=tuple(_derivation(question, placement, way, cost, path, catalog)),
        warnings=tuple(_warnings(question, system, placement, way)),
        engine_version=__version__,
        catalog_revision=catalog.revision,
    )


def exchange_ways(
    question: ExpertQuestion, system: System, placement: Placement, path: CollectivePath, catalog: Catalog
) -> Iterator[Way]:
    """Yield every kernel of the implementation that was measured on the system's kind of board, and NCCL's."""
    phase = question.collective.value.removeprefix("expert_")
    known = catalog.experts.of(system)
    mine = [c for c in known if c.implementation == question.implementation and c.phase == phase]
    for kernel in dict.fromkeys(c.kernel for c in mine):
        found = [c for c in mine if c.kernel == kernel]
        best = next((c for c in found if c.dtype == question.dtype.value), found[0])
        yield _way(question, placement, path, best, known)
    yield Way(ExpertKernel.ALL_TO_ALL, _by_nccl(question, placement, path)[0].cost)


def _way(
    question: ExpertQuestion,
    placement: Placement,
    path: CollectivePath,
    found: ExchangeCalibration,
    known: tuple[ExchangeCalibration, ...],
) -> Way:
    kernel = ExpertKernel(found.kernel)
    if placement.num_domains > 1 and found.constants.nic_ratio == 0:
        return Way(kernel, None, found, why_not="was measured inside one NVLink domain only")
    prepare = next(
        (c for c in known if (c.implementation, c.kernel, c.phase) == (found.implementation, found.kernel, "prepare")),
        None,
    )
    first = _cost(question, placement, path, prepare).seconds if prepare and found.phase == "dispatch" else 0.0
    return Way(kernel, _cost(question, placement, path, found), found, first)


def _cost(
    question: ExpertQuestion, placement: Placement, path: CollectivePath, found: ExchangeCalibration
) -> CollectiveCost:
    traffic = expert_traffic(
        question.tokens or 0,
        token_bytes(found.phase, question.hidden_size or 0, question.dtype.value),
        question.num_experts or 1,
        question.top_k or 1,
        placement.num_ranks,
        placement.ranks_per_domain,
        per_expert=found.constants.per_expert,
    )
    nic = path.fabric.line_bytes_per_second if path.fabric else 0.0
    sms = question.sms or (max(found.sms) if found.sms else 0)
    return exchange(traffic, found.constants, path.bandwidth_bytes_per_second, nic, sms)


def _by_nccl(
    question: ExpertQuestion, placement: Placement, path: CollectivePath
) -> tuple[Candidate, tuple[Candidate, ...], float]:
    """NCCL's all-to-all of every token once an expert: what a framework without such kernels does."""
    size = _buffer_bytes(question) * (question.top_k or 1)
    ways = candidates(Collective.ALL_TO_ALL, question.dtype, placement.num_ranks, size, path)
    return chosen(ways), ways, size


def _choose(question: ExpertQuestion, ways: tuple[Way, ...]) -> Way:
    if question.kernel is not None:
        asked = next((w for w in ways if w.kernel is question.kernel), None)
        if asked is None or asked.cost is None:
            why = asked.why_not if asked else f"{question.implementation} has no {question.kernel} here"
            allowed = ["auto", *(w.kernel.value for w in ways if w.cost)]
            problem = FieldProblem("/kernel", why or "", question.kernel.value, allowed, "auto")
            raise UnsupportedCollective(why or "not available", [problem])
        return asked
    own = [w for w in ways if w.cost and (question.implementation == NCCL or w.kernel is not ExpertKernel.ALL_TO_ALL)]
    return min(own or [w for w in ways if w.cost], key=lambda w: _with_prepare(w).seconds)


def _with_prepare(way: Way) -> CollectiveCost:
    cost = way.cost or CollectiveCost(0.0, 0.0, 0.0, 0)
    return CollectiveCost(
        cost.latency_seconds + way.prepare_seconds, cost.bandwidth_seconds, cost.bytes_on_wire_per_gpu, cost.steps
    )


def _buffer_bytes(question: ExpertQuestion) -> float:
    return (question.tokens or 0) * (question.hidden_size or 0) * WIRE_BYTES[question.dtype.value]


def _bound_seconds(question: ExpertQuestion, placement: Placement, path: CollectivePath) -> float:
    """Every token once a rank that has its experts, at line rates."""
    traffic = expert_traffic(
        question.tokens or 0, (question.hidden_size or 0) * WIRE_BYTES[question.dtype.value], question.num_experts or 1,
        question.top_k or 1, placement.num_ranks, placement.ranks_per_domain, per_expert=False,
    )  # fmt: skip
    near = traffic.near_bytes / path.bandwidth_bytes_per_second
    return max(near, traffic.far_bytes / path.fabric.line_bytes_per_second) if path.fabric else near


def _range(
    question: ExpertQuestion, system: System, placement: Placement, way: Way, cost: CollectiveCost,
    path: CollectivePath, catalog: Catalog, bound: float,
) -> EstimateRange:  # fmt: skip
    if way.calibration is None:
        nccl, ways, size = _by_nccl(question, placement, path)
        calibrations = catalog.calibrations
        return collective_range(
            system, Collective.ALL_TO_ALL, placement, round(size), nccl, ways, calibrations.for_system(system),
            calibrations, 0.0,
        )  # fmt: skip
    found = way.calibration
    low, high = found.band(question.tokens or 0)
    measured = _is_measured(question, system, placement, found)
    basis = f"{found.rows} rows of {found.implementation}'s {found.kernel}, residuals in {catalog.experts.source}"
    if not measured:
        low, high = low**_LESS_SURE_POWER, high**_LESS_SURE_POWER
        basis += "; this board, group or dtype is not among them"
    return EstimateRange(
        max(cost.seconds * low, bound), max(cost.seconds * high, bound), _COVERAGE_RATIO,
        "measured" if measured else "calibrated", basis,
    )  # fmt: skip


def _is_measured(question: ExpertQuestion, system: System, placement: Placement, found: ExchangeCalibration) -> bool:
    return (system.id, placement.num_ranks) in found.measured and found.dtype == question.dtype.value


def _bottleneck(cost: CollectiveCost, placement: Placement) -> str:
    if cost.latency_seconds > cost.bandwidth_seconds:
        return "latency"
    return "nic" if placement.num_domains > 1 else "nvlink"


def _derivation(
    question: ExpertQuestion, placement: Placement, way: Way, cost: CollectiveCost, path: CollectivePath,
    catalog: Catalog,
) -> Iterator[DerivationLine]:  # fmt: skip
    n, source = placement.num_ranks, catalog.experts.source
    wire = WIRE_BYTES[question.dtype.value]
    yield DerivationLine("T", "tokens of one rank", "asked for", question.tokens or 0, "1", "asked for")
    yield DerivationLine(
        "q", "one token on the wire, with its scales", f"{question.hidden_size} × {wire:g}",
        (question.hidden_size or 0) * wire, "B", "definition",
    )  # fmt: skip
    yield DerivationLine("n", "ranks of the expert-parallel group", "asked for", n, "1", "asked for")
    per_expert = way.calibration is None or way.calibration.constants.per_expert
    traffic = expert_traffic(
        1, 1.0, question.num_experts or 1, question.top_k or 1, n, placement.ranks_per_domain, per_expert=per_expert
    )
    how = "k × (n − 1) / n" if per_expert else "n (1 − C(E − E/n, k) / C(E, k)) × (n − 1) / n"
    yield DerivationLine(
        "c", "copies of a token that leave its rank: " + ("one an expert" if per_expert else "one a rank reached"), how,
        traffic.copies, "1", "uniform routing",
    )  # fmt: skip
    yield DerivationLine("W", "what each GPU sends", "T × q × c", cost.bytes_on_wire_per_gpu, "B", "definition")
    yield DerivationLine(
        "B", "the links of one GPU, one direction", "datasheet", path.bandwidth_bytes_per_second, "B/s",
        "hardware_catalog/networks",
    )  # fmt: skip
    if way.prepare_seconds:
        yield DerivationLine(
            "t_prepare", "the kernel that counts and tells where tokens go", "fitted", way.prepare_seconds, "s", source
        )
    yield DerivationLine("t_bandwidth", "bytes over the rate reached", "W / B_way", cost.bandwidth_seconds, "s", source)
    yield DerivationLine(
        "t_latency", "launch, barriers and the way to the full rate", "fitted", cost.latency_seconds, "s", source
    )
    yield DerivationLine(
        "t", f"{way.kernel} of {question.implementation}", "t_bandwidth + t_latency", cost.seconds, "s", source
    )


def _warnings(question: ExpertQuestion, system: System, placement: Placement, way: Way) -> Iterator[EstimateWarning]:
    yield EstimateWarning("balanced-routing", "tokens are spread evenly over the experts; the fullest rank is later")
    if way.kernel is ExpertKernel.ALL_TO_ALL and question.implementation != NCCL:
        yield EstimateWarning(
            "not-measured",
            f"no kernel of {question.implementation} was measured on {system.accelerator.id} like this: NCCL's "
            "all-to-all of every copy stands in",
        )
    if placement.num_domains > 1:
        yield EstimateWarning("few-rows", "between domains only DeepEP's low-latency kernels were measured, on Hopper")


def _inputs(question: ExpertQuestion, system: System, placement: Placement) -> dict[str, Any]:
    return {
        "system": system.id if isinstance(question.system, str) else question.system,
        "collective": question.collective.value,
        "gpus": question.gpus,
        "gpus_per_node": placement.ranks_per_node if placement.num_ranks % placement.ranks_per_node == 0 else None,
        "tokens": question.tokens,
        "hidden_size": question.hidden_size,
        "top_k": question.top_k,
        "num_experts": question.num_experts,
        "expert_parallel_size": placement.num_ranks,
        "dtype": question.dtype.value,
        "implementation": question.implementation,
        "kernel": question.kernel.value if question.kernel else "auto",
        "sms": question.sms,
        "overlap_window_seconds": question.overlap_window_seconds,
    }
