"""How long a collective takes: the answer, and the function from the question to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service import __version__
from service.catalog.calibrations import version_of
from service.catalog.catalog import Catalog
from service.core.collectives.bandwidth import algbw, busbw, busbw_factor
from service.core.collectives.cost import Algorithm, CollectiveCost, Protocol
from service.core.collectives.expert_exchange import ExpertKernel
from service.core.collectives.network import ideal_rate
from service.core.collectives.path import CollectivePath
from service.core.hardware import System, Topology
from service.core.placement import Placement
from service.planning.collective_derivation import (
    buffer_lines,
    busbw_line,
    ideal_lines,
    overlap_line,
)
from service.planning.collective_question import Buffer, CollectiveQuestion, resolve
from service.planning.collective_timing import CollectiveCandidate
from service.planning.estimates import DerivationLine, Estimate, EstimateRange, EstimateWarning
from service.planning.framework_all_reduce import framework_timing
from service.planning.nccl_collective import nccl_timing
from service.planning.nccl_environment import NcclSetting

KIND = "collective"


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """The answer; field names are those of the API. A group of one has no algorithm and takes no time."""

    seconds: float
    exposed_seconds: float | None
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    bytes_on_wire_per_gpu: float
    algorithm: Algorithm | ExpertKernel | None
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
    version = version_of(question.nccl_version) if question.nccl_version else None
    path = catalog.calibrations.collective_path(system, placement, question.registered_buffers, version)
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

    timer = nccl_timing if question.implementation == "nccl" else framework_timing
    timing = timer(question, system, placement, size_bytes, path, catalog.calibrations)
    cost = timing.cost
    bus = busbw(question.collective, n, size_bytes, cost.seconds)
    derivation += [
        *timing.derivation,
        busbw_line(bus, path.bandwidth_bytes_per_second, timing.algorithm),
        overlap_line(cost.seconds, question.overlap_window_seconds),
    ]
    return Estimate(
        kind=KIND,
        inputs=inputs,
        result=CollectiveResult(
            seconds=cost.seconds,
            exposed_seconds=_exposed(cost.seconds, question.overlap_window_seconds),
            algbw_bytes_per_second=algbw(size_bytes, cost.seconds),
            busbw_bytes_per_second=bus,
            bytes_on_wire_per_gpu=cost.bytes_on_wire_per_gpu,
            algorithm=timing.algorithm,
            protocol=timing.protocol,
            steps=cost.steps,
            latency_seconds=cost.latency_seconds,
            bandwidth_seconds=cost.bandwidth_seconds,
            bottleneck=_bottleneck(cost, system, path),
            size_bytes=size_bytes,
            candidates=timing.candidates,
            environment=timing.environment,
        ),
        range=timing.range,
        ideal=ideal,
        derivation=tuple(derivation),
        warnings=(*timing.warnings, *_overlap_warnings(question)),
        engine_version=__version__,
        catalog_revision=catalog.revision,
    )


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
        # Of a part-filled last node there is no such number: left out, it is filled in the same way again.
        "gpus_per_node": placement.ranks_per_node if placement.num_ranks % placement.ranks_per_node == 0 else None,
        "size_bytes": question.size_bytes,
        "model": buffer.model_id if isinstance(question.model, str) else question.model,
        "dtype": question.dtype.value,
        "algorithm": question.algorithm.value if question.algorithm else "auto",
        "protocol": question.protocol.value if question.protocol else "auto",
        "launch": question.launch,
        "implementation": question.implementation,
        "registered_buffers": question.registered_buffers,
        "nccl_version": question.nccl_version,
        "overlap_window_seconds": question.overlap_window_seconds,
    }


def _overlap_warnings(question: CollectiveQuestion) -> tuple[EstimateWarning, ...]:
    if question.overlap_window_seconds is None:
        return ()
    return (
        EstimateWarning(
            "overlap-is-ideal",
            "the window is taken as wholly usable; the collective's channels take SMs from the work that hides it",
        ),
    )


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
