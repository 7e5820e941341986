"""How far collective estimates are from every published row that the project carries."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from service.catalog.catalog import Catalog
from service.catalog.measurements import (
    CollectivePoint,
    FrameworkPoint,
    NetworkedPoint,
    networked,
    newest_frameworks,
    newest_single_node,
    public_single_domain,
)
from service.core.collectives.cost import Collective
from service.core.collectives.custom_all_reduce import NCCL, kernel_for
from service.core.hardware import ScaleOut, System
from service.core.numerics import Dtype
from service.core.placement import Placement, place
from service.errors import UnknownCatalogEntry
from service.planning.collective import estimate_on
from service.planning.collective_question import Buffer, CollectiveQuestion

# Where latency ends and where bandwidth begins: 256 KiB, and all below 64 MiB.
_BANDS = ((262144, "to 256 KiB"), (67108863, "to 64 MiB"), (float("inf"), "64 MiB and more"))


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One measured point and what is predicted for it.

    Parameters
    ----------
    table : str
        single-node (nccl-tests of one source), public (one domain), networked (several domains) or frameworks.
    role : str
        fitted: constants of its generation or fabric were fitted on it; held out: on none of its kind; handed to NCCL:
        a framework's row that its own kernels do not take.
    error_ratio, naive_error_ratio : float
        Predicted over measured, less one; of the model, and of factor × S over the rate of the links. [-]
    """

    table: str
    cluster: str
    system: str
    collective: str
    dtype: str
    gpus: int
    size_bytes: int
    band: str
    role: str
    measured_seconds: float
    predicted_seconds: float
    low_seconds: float
    high_seconds: float
    error_ratio: float
    naive_error_ratio: float
    source: str
    implementation: str = "nccl"
    launch: str = "eager"

    @property
    def in_range(self) -> bool:
        """Whether the answer's range holds the measurement."""
        return self.low_seconds <= self.measured_seconds <= self.high_seconds


@dataclass(frozen=True, slots=True)
class Stratum:
    """The errors of some rows; field names say the units."""

    name: str
    rows: int
    median_error_ratio: float
    p90_error_ratio: float
    worst_error_ratio: float
    in_range_ratio: float
    median_range_width_ratio: float
    naive_median_error_ratio: float


def scored_rows(catalog: Catalog) -> list[ScoredRow]:
    """Return every usable row of every table, predicted; rows of systems that the catalogue lacks are left out."""
    return [
        *_one_domain("single-node", newest_single_node(), catalog),
        *_one_domain("public", public_single_domain(), catalog),
        *_several_domains(catalog),
        *_frameworks(catalog),
    ]


def networked_system(point: NetworkedPoint, catalog: Catalog) -> tuple[System, Placement]:
    """Return a row's system with the network it ran on, and how its ranks sat."""
    system = catalog.system(point.system)
    scale_out = ScaleOut(point.network, point.nic_bytes_per_second, 1.0)
    per_node = min(system.gpus_per_node, point.gpus_per_domain)
    return (
        dataclasses.replace(system, scale_out=scale_out, max_gpus=max(system.max_gpus, point.gpus)),
        Placement(point.gpus, per_node, point.gpus_per_domain),
    )


def strata(rows: Iterable[ScoredRow], key: Callable[[ScoredRow], str]) -> list[Stratum]:
    """Return the errors of each group of rows, by the group's name."""
    groups: dict[str, list[ScoredRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return [stratum(name, found) for name, found in sorted(groups.items())]


def stratum(name: str, rows: Sequence[ScoredRow]) -> Stratum:
    """Return the errors of some rows."""
    errors = sorted(abs(row.error_ratio) for row in rows)
    return Stratum(
        name=name,
        rows=len(rows),
        median_error_ratio=statistics.median(errors),
        p90_error_ratio=errors[int(0.9 * len(errors))],
        worst_error_ratio=errors[-1],
        in_range_ratio=sum(row.in_range for row in rows) / len(rows),
        median_range_width_ratio=statistics.median(row.high_seconds / row.low_seconds for row in rows),
        naive_median_error_ratio=statistics.median(abs(row.naive_error_ratio) for row in rows),
    )


def _one_domain(table: str, points: Iterable[CollectivePoint], catalog: Catalog) -> Iterator[ScoredRow]:
    for point in points:
        try:
            system = catalog.system(point.system)
        except UnknownCatalogEntry:  # a board without a system of its own
            continue
        calibration = catalog.calibrations.for_system(system)
        fitted = point.system in calibration.fitted_systems and point.gpus in calibration.fitted_gpus
        role = "fitted" if fitted and table == "single-node" else "held out"
        yield _row(table, point.system, role, point, system, place(system, point.gpus), catalog)


def _several_domains(catalog: Catalog) -> Iterator[ScoredRow]:
    for point in networked():
        system, placement = networked_system(point, catalog)
        role = "held out" if point.over_many_racks else "fitted"
        yield _row("networked", point.table, role, point, system, placement, catalog)


def _frameworks(catalog: Catalog) -> Iterator[ScoredRow]:
    for point in newest_frameworks():
        try:
            system = catalog.system(point.system)
        except UnknownCatalogEntry:  # a board without a system of its own
            continue
        found, placement = catalog.calibrations.custom_all_reduce, place(system, point.gpus)
        framework, mine = found.kernels(point.implementation, system), found.calibration(point.implementation, system)
        if framework is None or mine is None:
            continue
        adds = catalog.calibrations.collective_path(system, placement).nvls is not None
        kernel = kernel_for(framework, Dtype(point.dtype), point.gpus, point.size_bytes, switch_adds=adds)
        systems, gpus = mine.fitted.get(kernel, (frozenset(), frozenset()))
        role = "fitted" if point.system in systems and point.gpus in gpus else "held out"
        yield _row(
            "frameworks",
            point.implementation,
            "handed to NCCL" if kernel == NCCL else role,
            point,
            system,
            placement,
            catalog,
        )


def _row(
    table: str,
    cluster: str,
    role: str,
    point: CollectivePoint | NetworkedPoint | FrameworkPoint,
    system: System,
    placement: Placement,
    catalog: Catalog,
) -> ScoredRow:
    if isinstance(point, FrameworkPoint):
        implementation, launch, collective = point.implementation, point.launch, Collective.ALL_REDUCE
    else:
        implementation, launch, collective = "nccl", "eager", Collective(point.collective)
    question = CollectiveQuestion(
        system.id,
        collective,
        point.gpus,
        size_bytes=point.size_bytes,
        dtype=Dtype(point.dtype),
        launch=launch,
        implementation=implementation,
    )
    answer = estimate_on(question, system, placement, Buffer(point.size_bytes, None, None), catalog)
    return ScoredRow(
        table=table,
        cluster=cluster,
        system=system.id,
        collective=collective.value,
        dtype=point.dtype,
        gpus=point.gpus,
        size_bytes=point.size_bytes,
        band=next(label for upper, label in _BANDS if point.size_bytes <= upper),
        role=role,
        measured_seconds=point.seconds,
        predicted_seconds=answer.result.seconds,
        low_seconds=answer.range.low,
        high_seconds=answer.range.high,
        error_ratio=answer.result.seconds / point.seconds - 1,
        naive_error_ratio=answer.ideal.seconds / point.seconds - 1,
        source=point.source,
        implementation=implementation,
        launch=launch,
    )
