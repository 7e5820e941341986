"""All-reduce kernels of serving frameworks: constants fitted on published tables, and which kernel is taken when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from service.catalog.constants import named_constants, si
from service.core.collectives.cost import Algorithm
from service.core.collectives.custom_all_reduce import NCCL, SUMMED, FrameworkKernels, KernelBand, KernelConstants
from service.core.hardware import System, Topology
from service.core.numerics import Dtype
from service.errors import CatalogDefect

_FILE = "custom-all-reduce.yaml"
_SELECTION = "custom-all-reduce-selection.yaml"


@dataclass(frozen=True, slots=True)
class LaunchResidual:
    """How far predictions of one launch and band of sizes were from the measurements.

    Parameters
    ----------
    launch : str
        graph or eager.
    up_to_bytes : float
        Upper end of the band; infinity for the last. [B]
    low_ratio, high_ratio : float
        Measured over predicted: the ends that hold 90 % of the rows. [-]
    """

    launch: str
    up_to_bytes: float
    rows: int
    low_ratio: float
    high_ratio: float


@dataclass(frozen=True, slots=True)
class FrameworkCalibration:
    """One framework on one generation of boards.

    Parameters
    ----------
    version : str
        Of the framework that was measured.
    host_seconds : Mapping[str, float]
        CPU time of an eager call, by kernel. [s]
    fitted : Mapping[str, tuple[frozenset[str], frozenset[int]]]
        Systems and GPU counts that each kernel's constants were fitted on; the rest was held out.
    eager_measured : bool
        Whether any eager row was found.
    measured : frozenset[tuple[str, int]]
        (accelerator, GPUs) of the residuals; `measured_systems` are their machines.
    """

    version: str
    kernels: Mapping[str, KernelConstants]
    host_seconds: Mapping[str, float]
    fitted: Mapping[str, tuple[frozenset[str], frozenset[int]]]
    residuals: tuple[LaunchResidual, ...]
    measured: frozenset[tuple[str, int]]
    eager_measured: bool
    measured_systems: frozenset[str]

    def residual(self, launch: str, size_bytes: float) -> LaunchResidual | None:
        """Return the residual of a launch and size, None where no row was measured so."""
        return next((r for r in self.residuals if r.launch == launch and size_bytes <= r.up_to_bytes), None)


@dataclass(frozen=True, slots=True)
class NcclInGraph:
    """NCCL launched from a CUDA graph over nccl-tests' time of the same: what frameworks hand over to it.

    Parameters
    ----------
    from_bytes : float
        Smallest size among the rows. [B]
    low_ratio, high_ratio : float
        The ends that hold 90 % of the rows. [-]
    """

    from_bytes: float
    rows: int
    median_ratio: float
    low_ratio: float
    high_ratio: float


@dataclass(frozen=True, slots=True)
class FrameworkBoards:
    """Boards that share constants.

    Parameters
    ----------
    accelerators : frozenset[str]
        Catalogue ids; empty: all of the architectures on the networks.
    copy_ratio : float
        Share of the memory's rate that the eager copy reaches, read and write counted. [-]
    """

    id: str
    architectures: frozenset[str]
    networks: frozenset[str]
    accelerators: frozenset[str]
    copy_launch_seconds: float
    copy_ratio: float
    implementations: Mapping[str, FrameworkCalibration]

    def has(self, system: System) -> bool:
        """Return whether a system is built of these boards."""
        return (
            system.accelerator.architecture in self.architectures
            and system.scale_up.network in self.networks
            and (not self.accelerators or system.accelerator.id in self.accelerators)
            and system.scale_up.topology is Topology.SWITCH
        )


# Implementation, architecture, number of ranks.
Bands = Mapping[str, Mapping[str, Mapping[int, tuple[KernelBand, ...]]]]


@dataclass(frozen=True, slots=True)
class CustomAllReduce:
    """All of them; a board that lists its accelerators stands before one that does not."""

    boards: tuple[FrameworkBoards, ...]
    bands: Bands
    nccl_in_graph: NcclInGraph

    @property
    def source(self) -> str:
        """The file."""
        return f"hardware_catalog/calibrations/{_FILE}"

    @property
    def implementations(self) -> tuple[str, ...]:
        """The frameworks."""
        return tuple(self.bands)

    def host_seconds(self, implementation: str) -> tuple[float, float]:
        """Return the shortest and the longest CPU time of an eager one-shot call over all measured machines. [s]"""
        times = [boards.implementations[implementation].host_seconds["one_shot"] for boards in self.boards]
        return min(times), max(times)

    def calibration(self, implementation: str, system: System) -> FrameworkCalibration | None:
        """Return what was measured of a framework on a system's boards, None where nothing was."""
        boards = self._boards(system)
        return boards.implementations.get(implementation) if boards else None

    def kernels(self, implementation: str, system: System) -> FrameworkKernels | None:
        """Return a framework's all-reduce on a system as the formulas see it, None where nothing was measured.

        Parameters
        ----------
        implementation : str
            trtllm, vllm or sglang.
        system : System
            The hardware.
        """
        boards = self._boards(system)
        if boards is None or implementation not in boards.implementations:
            return None
        architecture, memory = system.accelerator.architecture, system.accelerator.memory_bandwidth_bytes_per_second
        mine = boards.implementations[implementation]
        return FrameworkKernels(
            implementation,
            mine.kernels,
            self.bands[implementation][architecture],
            mine.host_seconds,
            boards.copy_launch_seconds,
            boards.copy_ratio * memory / 2,
        )

    def _boards(self, system: System) -> FrameworkBoards | None:
        return next((boards for boards in self.boards if boards.has(system)), None)


NOT_MEASURED = CustomAllReduce((), {}, NcclInGraph(float("inf"), 0, 1.0, 1.0, 1.0))
"""No framework at all."""


def load_custom_all_reduce(folder: Path) -> CustomAllReduce:
    """Read both files of a folder.

    Raises
    ------
    CatalogDefect
        If one is missing or does not hold together.
    """
    bands = load_bands(folder)
    try:
        document = yaml.safe_load((folder / _FILE).read_text(encoding="utf-8"))
        found = [boards_from(entry) for entry in document["boards"]]
        for boards in found:
            _check(boards, bands)
        graph = document["nccl_in_graph"]
        return CustomAllReduce(
            tuple(sorted(found, key=lambda boards: not boards.accelerators)),
            bands,
            NcclInGraph(
                si(graph["from"]), int(graph["rows"]), float(graph["median_ratio"]), float(graph["low_ratio"]),
                float(graph["high_ratio"]),
            ),
        )  # fmt: skip
    except (OSError, KeyError, TypeError, ValueError) as defect:
        raise CatalogDefect(_FILE, str(defect), "missing or not a value with its unit") from defect


def load_bands(folder: Path) -> Bands:
    """Read which kernel each framework takes; raises CatalogDefect as `load_custom_all_reduce` does."""
    try:
        document = si(yaml.safe_load((folder / _SELECTION).read_text(encoding="utf-8")))
        return {
            implementation: {
                architecture: {int(n): tuple(_band(band) for band in bands) for n, bands in by_count.items()}
                for architecture, by_count in entry["architectures"].items()
            }
            for implementation, entry in document["implementations"].items()
        }
    except (OSError, KeyError, TypeError, ValueError) as defect:
        raise CatalogDefect(_SELECTION, str(defect), "missing or not a size with its unit") from defect


def _band(entry: Mapping[str, Any]) -> KernelBand:
    dtypes = frozenset(map(Dtype, entry["dtypes"])) if "dtypes" in entry else SUMMED
    return KernelBand(entry["kernel"], entry["up_to"] if "up_to" in entry else entry["below"] - 1, dtypes)


def boards_from(entry: Mapping[str, Any]) -> FrameworkBoards:
    """Return one entry of the file's `boards`; raises KeyError, TypeError or ValueError if it is not one."""
    copy = named_constants(entry["copy"])
    return FrameworkBoards(
        entry["id"],
        frozenset(entry["architectures"]),
        frozenset(entry["networks"]),
        frozenset(entry.get("accelerators", ())),
        copy["launch_seconds"],
        copy["memory_ratio"],
        MappingProxyType({name: _calibration(mine) for name, mine in entry["implementations"].items()}),
    )


def _calibration(entry: Mapping[str, Any]) -> FrameworkCalibration:
    kernels = {
        name: KernelConstants(Algorithm(values["algorithm"]), **named_constants(_without_algorithm(values)))
        for name, values in entry["kernels"].items()
    }
    for name, kernel in kernels.items():
        if not 0 < kernel.link_ratio <= 1 or kernel.sharpness < 1:
            raise ValueError(f"{name}: link_ratio is a share of the link, sharpness at least 1")
    fitted = entry["fitted_on"]
    return FrameworkCalibration(
        version=str(entry["version"]),
        kernels=MappingProxyType(kernels),
        host_seconds=MappingProxyType(si(entry["host"])),
        fitted={name: (frozenset(of["systems"]), frozenset(of["gpus"])) for name, of in fitted.items()},
        residuals=tuple(
            LaunchResidual(
                r["launch"],
                si(r["up_to"]) if "up_to" in r else float("inf"),
                r["rows"],
                r["low_ratio"],
                r["high_ratio"],
            )
            for r in entry["residuals"]
        ),
        measured=frozenset((accelerator, n) for accelerator, counts in entry["measured"].items() for n in counts),
        eager_measured=bool(entry["eager_measured"]),
        measured_systems=frozenset(entry["measured_systems"]),
    )


def _without_algorithm(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != "algorithm"}


def _check(boards: FrameworkBoards, bands: Bands) -> None:
    """Refuse a framework whose bands name a kernel that has no constants or no host time."""
    for implementation, mine in boards.implementations.items():
        for architecture in boards.architectures:
            for found in bands[implementation][architecture].values():
                missing = {band.kernel for band in found} - set(mine.kernels) - {NCCL}
                if missing:
                    raise KeyError(f"{boards.id} {implementation}: no constants of {', '.join(sorted(missing))}")
        if {*mine.kernels, NCCL} - set(mine.host_seconds):
            raise KeyError(f"{boards.id} {implementation}: host times are missing")
