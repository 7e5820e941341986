"""How long a collective takes: the answer, and the function from the question to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service import __version__
from service.catalog.catalog import Catalog
from service.core.collectives.algorithms import Candidate, candidates, chosen
from service.core.collectives.bandwidth import algbw, busbw, busbw_factor
from service.core.collectives.cost import Algorithm, CollectiveCost, Protocol
from service.core.collectives.network import ideal_rate
from service.core.collectives.path import CollectivePath
from service.core.hardware import System, Topology
from service.core.placement import Placement
from service.errors import FieldProblem, UnsupportedCollective
from service.planning.collective_derivation import (
    buffer_lines,
    busbw_line,
    choice_lines,
    ideal_lines,
    overlap_line,
)
from service.planning.collective_question import Buffer, CollectiveQuestion, resolve
from service.planning.collective_range import collective_range, is_unvalidated
from service.planning.estimates import DerivationLine, Estimate, EstimateRange, EstimateWarning
from service.planning.nccl_environment import NcclSetting, nccl_settings

KIND = "collective"


@dataclass(frozen=True, slots=True)
class CollectiveCandidate:
    """One way of doing it, timed; `seconds` is None when it is not available."""

    algorithm: Algorithm
    protocol: Protocol
    seconds: float | None
    available: bool
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """The answer; field names are those of the API. A group of one has no algorithm and takes no time."""

    seconds: float
    exposed_seconds: float | None
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    bytes_on_wire_per_gpu: float
    algorithm: Algorithm | None
    protocol: Protocol | None
    steps: int
    latency_seconds: float
    bandwidth_seconds: float
    bottleneck: str
    size_bytes: int
    candidates: tuple[CollectiveCandidate, ...]
    environment: tuple[NcclSetting, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectiveIdeal:
    """The ring formula at the per-direction rate, and at the headline that no link reaches one way."""

    seconds: float
    headline_seconds: float
    bandwidth_bytes_per_second: float
    headline_bandwidth_bytes_per_second: float


def estimate_collective(question: CollectiveQuestion, catalog: Catalog) -> Estimate:
    """Return how long a collective takes, with its working and its range.

    Parameters
    ----------
    question : CollectiveQuestion
        Names or inline entries; what is None is filled in.
    catalog : Catalog
        Answers the names, and holds the calibrations.

    Raises
    ------
    StepcastError
        Every problem of the question at once: unknown names, more GPUs than there are, a size that is missing.
    """
    return estimate_on(question, *resolve(question, catalog), catalog)


def estimate_on(
    question: CollectiveQuestion, system: System, placement: Placement, buffer: Buffer, catalog: Catalog
) -> Estimate:
    """Return the same for things instead of names: a system that no entry describes, a placement of one's own."""
    n, size_bytes = placement.num_ranks, buffer.size_bytes
    path = catalog.calibrations.collective_path(system, placement)
    rate = ideal_rate(question.collective, path)
    wire = busbw_factor(question.collective, n) * size_bytes
    ideal = CollectiveIdeal(wire / rate, wire / (2 * rate), rate, 2 * rate)
    inputs = _inputs(question, system, placement, buffer)
    derivation = [
        *buffer_lines(question.collective, size_bytes, buffer.model_id, buffer.parameters, question.dtype),
        *ideal_lines(question.collective, placement, size_bytes, system, path),
    ]
    if n == 1:
        return _single_rank(question, inputs, size_bytes, ideal, derivation, catalog.revision)

    calibration = catalog.calibrations.for_system(system)
    ways = candidates(question.collective, question.dtype, n, size_bytes, path)
    way, cost = _choose(question, ways)
    link = path.bandwidth_bytes_per_second
    bound = cost.bytes_on_wire_per_gpu / link
    bus = busbw(question.collective, n, size_bytes, cost.seconds)
    derivation += choice_lines(
        way.algorithm, way.protocol, cost, n, size_bytes, question.algorithm is not None, calibration.source
    )
    derivation += [busbw_line(bus, link, way.algorithm), overlap_line(cost.seconds, question.overlap_window_seconds)]
    return Estimate(
        kind=KIND,
        inputs=inputs,
        result=CollectiveResult(
            seconds=cost.seconds,
            exposed_seconds=_exposed(cost.seconds, question.overlap_window_seconds),
            algbw_bytes_per_second=algbw(size_bytes, cost.seconds),
            busbw_bytes_per_second=bus,
            bytes_on_wire_per_gpu=cost.bytes_on_wire_per_gpu,
            algorithm=way.algorithm,
            protocol=way.protocol,
            steps=cost.steps,
            latency_seconds=cost.latency_seconds,
            bandwidth_seconds=cost.bandwidth_seconds,
            bottleneck=_bottleneck(cost, system, path),
            size_bytes=size_bytes,
            candidates=tuple(
                CollectiveCandidate(
                    w.algorithm, w.protocol, w.cost.seconds if w.cost else None, bool(w.cost), w.why_not
                )
                for w in ways
            ),
            environment=nccl_settings(ways),
        ),
        range=collective_range(
            system, question.collective, placement, size_bytes, way, ways, calibration, catalog.calibrations, bound
        ),
        ideal=ideal,
        derivation=tuple(derivation),
        warnings=_warnings(question, system, way, placement, calibration is catalog.calibrations.unmeasured),
        engine_version=__version__,
        catalog_revision=catalog.revision,
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


def _single_rank(
    question: CollectiveQuestion,
    inputs: Mapping[str, Any],
    size_bytes: int,
    ideal: CollectiveIdeal,
    derivation: list[DerivationLine],
    revision: str,
) -> Estimate:
    exposed = _exposed(0.0, question.overlap_window_seconds)
    return Estimate(
        kind=KIND,
        inputs=inputs,
        result=CollectiveResult(0.0, exposed, 0.0, 0.0, 0.0, None, None, 0, 0.0, 0.0, "none", size_bytes, ()),
        range=EstimateRange(0.0, 0.0, 0.9, "speed_of_light", "one rank sends nothing"),
        ideal=ideal,
        derivation=tuple(derivation),
        warnings=(EstimateWarning("single-rank", "a group of one GPU has nothing to send"),),
        engine_version=__version__,
        catalog_revision=revision,
    )


def _inputs(question: CollectiveQuestion, system: System, placement: Placement, buffer: Buffer) -> dict[str, Any]:
    return {
        "system": system.id if isinstance(question.system, str) else question.system,
        "collective": question.collective.value,
        "gpus": placement.num_ranks,
        "gpus_per_node": placement.ranks_per_node,
        "size_bytes": question.size_bytes,
        "model": buffer.model_id if isinstance(question.model, str) else question.model,
        "dtype": question.dtype.value,
        "algorithm": question.algorithm.value if question.algorithm else "auto",
        "protocol": question.protocol.value if question.protocol else "auto",
        "launch": question.launch,
        "implementation": question.implementation,
        "registered_buffers": question.registered_buffers,
        "overlap_window_seconds": question.overlap_window_seconds,
    }


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
    if question.overlap_window_seconds is not None:
        found.append(
            EstimateWarning(
                "overlap-is-ideal",
                "the window is taken as wholly usable; the collective's channels take SMs from the work that hides it",
            )
        )
    return tuple(found)


def _exposed(seconds: float, window_seconds: float | None) -> float | None:
    return None if window_seconds is None else max(0.0, seconds - window_seconds)


def _bottleneck(cost: CollectiveCost, system: System, path: CollectivePath) -> str:
    if cost.latency_seconds > cost.bandwidth_seconds:
        return "latency"
    if path.fabric is not None and cost.bytes_on_wire_per_gpu / cost.bandwidth_seconds < _reached(path):
        return "nic"
    if system.scale_up.topology is Topology.PCIE:
        return "pcie"
    return "nvlink" if system.scale_up.network.startswith("nvlink") else "scale_up"


def _reached(path: CollectivePath) -> float:
    """Rate that payload reaches on a GPU's own links: slower than that, the network holds it up."""
    return (
        0.99 * min(path.simple.link_ratio, path.nvls.link_ratio if path.nvls else 1.0) * path.bandwidth_bytes_per_second
    )
