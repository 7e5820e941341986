"""How sure a collective estimate is: the width that the published measurements leave."""

from __future__ import annotations

import math

from service.catalog.calibrations import Calibration, Calibrations, Residual
from service.catalog.custom_all_reduce import CustomAllReduce
from service.core.collectives.algorithms import Candidate
from service.core.collectives.cost import Algorithm, Collective, CollectiveCost
from service.core.collectives.path import CollectivePath
from service.core.hardware import System
from service.core.placement import Placement
from service.planning.collective_question import CollectiveQuestion
from service.planning.estimates import EstimateRange

COVERAGE_RATIO = 0.9
_UNVALIDATED = frozenset({Collective.BROADCAST, Collective.REDUCE, Collective.SEND_RECV})
# No public table shows them but one run of CollNet: 96 H100, 9 % slower than modelled.
_UNSEEN = frozenset({Algorithm.SYMMETRIC, Algorithm.COPY_ENGINE, Algorithm.COLLNET, Algorithm.PAT})
_LESS_SURE_POWER = 1.5  # of the residual, where constants serve outside the rows they were fitted on
_UNSEEN_DOUBLING_RATIO = 0.1  # added upwards for each doubling of the GPUs past the largest group measured
_DOMAINS_MEASURED = 8
_NODE_GPUS = 8
_MANY_RACKS_RATIO = 2.5  # CoreWeave, 20 GB200 racks: what the tree between so many racks costs is not understood
_SMALL_GRAPH_RATIO = 0.7  # assumed: nccl-tests' smallest times hold a launch, of which a graph may save this much
_NEAR_TIE_RATIO = 1.1  # NCCL versions differ by more than this where two ways are about equal


def is_unvalidated(collective: Collective, algorithm: Algorithm, num_domains: int) -> bool:
    """Return whether no public table shows this collective done this way, inside a domain or between several."""
    return collective in _UNVALIDATED or algorithm in _UNSEEN or (algorithm is Algorithm.TREE and num_domains == 1)


def collective_range(
    system: System,
    collective: Collective,
    placement: Placement,
    size_bytes: int,
    chosen: Candidate,
    rivals: tuple[Candidate, ...],
    calibration: Calibration,
    calibrations: Calibrations,
    bound_seconds: float,
) -> EstimateRange:
    """Return the range of a collective's time.

    Parameters
    ----------
    rivals : tuple[Candidate, ...]
        The other available ways; one that NCCL's tuner finds about as fast is inside the range too.
    calibration : Calibration
        The one that timed it inside a domain.
    calibrations : Calibrations
        The stand-in, whose width serves where nothing was measured, and the fabrics between domains.
    bound_seconds : float
        Bytes on the wire over the link's rate: the range never goes under it. [s]
    """
    seconds, num_ranks, unmeasured = _seconds(chosen), placement.num_ranks, calibrations.unmeasured
    unvalidated = is_unvalidated(collective, chosen.algorithm, placement.num_domains)
    residual = _band((unmeasured if unvalidated else calibration).residuals, collective, size_bytes)
    low, high = seconds * residual.low_ratio, seconds * residual.high_ratio
    in_table = (system.accelerator.id, collective.value, num_ranks) in calibration.measured
    if calibration is unmeasured:
        kind, basis = (
            "speed_of_light",
            "nothing like it was measured: NCCL's own latencies, a rule of thumb for the rate",
        )
    elif placement.num_domains > 1 and system.scale_out is not None:
        kind, basis, low, high = _over_the_network(system, placement, seconds, unvalidated, calibrations)
    elif unvalidated:
        kind, basis = "calibrated", f"constants of {calibration.source}, but no public table of {collective} this way"
    elif in_table and size_bytes <= calibration.measured_up_to_bytes:
        kind, basis = "measured", f"{residual.rows} rows of this size band, residuals in {calibration.source}"
    else:
        kind = "calibrated"
        basis = f"constants of {calibration.source}, fitted on other GPU counts, sizes or parts of the generation"
        low, high = seconds * residual.low_ratio**_LESS_SURE_POWER, seconds * residual.high_ratio**_LESS_SURE_POWER
        largest = max((gpus for _, _, gpus in calibration.measured), default=num_ranks)
        if num_ranks > largest:
            high *= 1 + _UNSEEN_DOUBLING_RATIO * math.log2(num_ranks / largest)
            basis += f"; no group above {largest} GPUs was measured"
    if placement.num_domains == 1 and calibration is not unmeasured and system.id not in calibration.measured_systems:
        other = _band(calibrations.other_hosts, collective, size_bytes)
        low, high = min(low, seconds * other.low_ratio), max(high, seconds * other.high_ratio)
        basis += f"; {system.id} itself was not measured, {other.rows} public runs on other hosts widen it"
        kind = "calibrated"
    tied = [_seconds(r) for r in rivals if _near_tie(chosen, r)]
    if tied:
        low, high = min(low, *tied), max(high, *tied)
        basis += "; NCCL finds another way about as fast here, and it is inside the range"
    return EstimateRange(max(low, bound_seconds), high, COVERAGE_RATIO, kind, basis)


def in_graph(width: EstimateRange, size_bytes: int, bound_seconds: float, frameworks: CustomAllReduce) -> EstimateRange:
    """Return the range of what NCCL takes from a CUDA graph, from that of what it takes in nccl-tests.

    Parameters
    ----------
    width : EstimateRange
        As nccl-tests would launch it.
    frameworks : CustomAllReduce
        How graph rows that frameworks hand to NCCL compare with nccl-tests.
    """
    measured = frameworks.nccl_in_graph
    low, high, basis = width.low * measured.low_ratio, width.high * measured.high_ratio, width.basis
    if size_bytes >= measured.from_bytes:
        basis += f"; {measured.rows} rows from CUDA graphs were {measured.median_ratio} times nccl-tests' in the median"
        return EstimateRange(max(low, bound_seconds), high, width.coverage_ratio, width.basis_kind, basis)
    basis += "; no row of NCCL from a CUDA graph this small was found, and a launch may be saved"
    kind = "calibrated" if width.basis_kind == "measured" else width.basis_kind
    return EstimateRange(max(low * _SMALL_GRAPH_RATIO, bound_seconds), high, width.coverage_ratio, kind, basis)


def framework_range(
    question: CollectiveQuestion,
    system: System,
    placement: Placement,
    size_bytes: int,
    cost: CollectiveCost,
    on_gpu: CollectiveCost,
    path: CollectivePath,
    calibrations: Calibrations,
) -> EstimateRange:
    """Return the range of a framework's own kernel.

    Parameters
    ----------
    cost : CollectiveCost
        As launched.
    on_gpu : CollectiveCost
        The kernel alone, which an eager launch cannot undercut.
    """
    seconds, frameworks = cost.seconds, calibrations.custom_all_reduce
    bound = cost.bytes_on_wire_per_gpu / path.bandwidth_bytes_per_second
    mine = frameworks.calibration(question.implementation, system)
    residual = mine.residual(question.launch, size_bytes) if mine else None
    if mine is None or residual is None:
        stand_in = calibrations.unmeasured.residuals[0]
        low = max(bound, min(on_gpu.seconds, seconds * stand_in.low_ratio))
        basis = f"constants of {frameworks.source}, but no {question.launch} row of {question.implementation}"
        return EstimateRange(low, seconds * stand_in.high_ratio, COVERAGE_RATIO, "calibrated", basis)
    in_table = (system.accelerator.id, placement.num_ranks) in mine.measured and placement.num_nodes == 1
    in_table = in_table and system.id in mine.measured_systems
    if in_table and question.algorithm is None:
        kind, power = "measured", 1.0
        basis = f"{residual.rows} {question.launch} rows of {question.implementation} {mine.version}, "
        basis += f"residuals in {frameworks.source}"
    else:
        kind, power = "calibrated", _LESS_SURE_POWER
        basis = f"constants of {frameworks.source}, fitted on other GPU counts, machines or parts of the generation"
    low, high = min(1.0, residual.low_ratio) ** power, max(1.0, residual.high_ratio) ** power
    low, high = seconds * low, seconds * high
    if question.launch == "eager" and system.id not in mine.measured_systems:
        shortest, longest = frameworks.host_seconds(question.implementation)
        low, high = min(low, max(on_gpu.seconds, shortest)), max(high, longest)
        basis += f"; the CPU's time of a call was {shortest:.3g} to {longest:.3g} s on the machines that were measured"
    return EstimateRange(max(low, bound), high, COVERAGE_RATIO, kind, basis)


def _over_the_network(
    system: System, placement: Placement, seconds: float, unvalidated: bool, calibrations: Calibrations
) -> tuple[str, str, float, float]:
    """Kind, basis and bounds between domains: the residuals of all fabrics' public rows, wider where there are none."""
    fabrics, network = calibrations.fabrics, system.scale_out.network if system.scale_out else ""
    fabric = fabrics.of(network)
    power = 1.0
    basis = f"{fabrics.rows} public rows over {len(fabrics.fabrics)} fabrics, residuals in {fabrics.source}"
    if network not in fabric.measured:
        power = _LESS_SURE_POWER
        basis += f"; {network} itself was not measured, {fabric.name} stands in"
    low, high = seconds * fabrics.low_ratio**power, seconds * fabrics.high_ratio**power
    if unvalidated:
        stand_in = calibrations.unmeasured.residuals[0]
        low, high = seconds * stand_in.low_ratio, seconds * stand_in.high_ratio
    if placement.num_domains > 2 and placement.ranks_per_domain > _NODE_GPUS:
        high *= _MANY_RACKS_RATIO
        basis += "; the one public run over more than two racks took twice as long as predicted"
    if placement.num_domains > _DOMAINS_MEASURED:
        high *= 1 + _UNSEEN_DOUBLING_RATIO * math.log2(placement.num_domains / _DOMAINS_MEASURED)
        basis += f"; few public runs have more than {_DOMAINS_MEASURED} domains"
    return "calibrated", basis, low, high


def _band(residuals: tuple[Residual, ...], collective: Collective, size_bytes: int) -> Residual:
    return next(
        band
        for band in residuals
        if size_bytes <= band.up_to_bytes and (not band.collectives or collective in band.collectives)
    )


def _near_tie(chosen: Candidate, rival: Candidate) -> bool:
    believed, other = chosen.tuner_seconds, rival.tuner_seconds
    return bool(rival.cost and believed and other and rival is not chosen and other <= believed * _NEAR_TIE_RATIO)


def _seconds(way: Candidate) -> float:
    return way.cost.seconds if way.cost else 0.0
