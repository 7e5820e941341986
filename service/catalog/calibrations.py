"""Calibrations: constants fitted on published measurements, read from hardware_catalog/calibrations.

Each file says what it was fitted on and by which command. A calibration applies to a GPU architecture on a
network; where none applies, `collectives-unmeasured` stands in and the estimate says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from service.catalog.constants import named_constants, si
from service.catalog.custom_all_reduce import NOT_MEASURED, CustomAllReduce, load_custom_all_reduce
from service.catalog.engine_calibrations import NO_ENGINES, EngineCalibrations, load_engine_calibrations
from service.catalog.fabric_calibrations import FabricCalibrations, load_fabric_calibrations
from service.core.collectives.cost import Algorithm, Protocol
from service.core.collectives.path import (
    CollectivePath,
    DirectConstants,
    LowLatencyConstants,
    NcclTuning,
    NetworkTuning,
    NvlsConstants,
    SimpleRingConstants,
    SymmetricConstants,
)
from service.core.hardware import System, Topology, usable_bandwidth
from service.core.placement import Placement
from service.errors import CatalogDefect

_PATHS_KEPT = 4096  # what callers ask for repeats; inline systems must not grow memory
_UNMEASURED = "collectives-unmeasured"
_GENERATION_OF = {"blackwell-ultra": "blackwell", "rubin": "blackwell", "ada": "ampere"}


@dataclass(frozen=True, slots=True)
class Residual:
    """How far predictions of one band of sizes were from the measurements.

    Parameters
    ----------
    up_to_bytes : float
        Upper end of the band; infinity for the last. [B]
    low_ratio, high_ratio : float
        Measured over predicted: the ends that hold the stated share of the rows. [-]
    collectives : frozenset[str]
        Which it is of; empty: all.
    """

    up_to_bytes: float
    low_ratio: float
    high_ratio: float
    rows: int
    collectives: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Calibration:
    """One file: constants, where they apply, and how well they fit.

    Parameters
    ----------
    measured : frozenset[tuple[str, str, int]]
        (accelerator, collective, GPUs) that the residuals were taken on.
    measured_up_to_bytes : float
        Largest size among them. [B]
    fitted_systems, fitted_gpus : frozenset
        What the constants were fitted on; the rest was held out.
    measured_systems : frozenset[str]
        Systems whose own rows are among the residuals.
    """

    id: str
    architectures: frozenset[str]
    networks: frozenset[str]
    constants: Mapping[str, Mapping[str, Any]]
    residuals: tuple[Residual, ...]
    measured: frozenset[tuple[str, str, int]]
    measured_up_to_bytes: float
    source: str
    fitted_systems: frozenset[str] = frozenset()
    fitted_gpus: frozenset[int] = frozenset()
    measured_systems: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Calibrations:
    """All of them, NCCL's tuner constants, and serving frameworks' own kernels.

    Parameters
    ----------
    other_hosts : tuple[Residual, ...]
        Of public runs on hosts other than those of the residuals' table: virtual machines, other builds and harnesses.
    """

    collectives: tuple[Calibration, ...]
    unmeasured: Calibration
    nccl_tuning: Mapping[str, Any]
    fabrics: FabricCalibrations
    other_hosts: tuple[Residual, ...] = ()
    custom_all_reduce: CustomAllReduce = NOT_MEASURED
    engines: EngineCalibrations = NO_ENGINES
    _paths: dict[tuple[Any, ...], CollectivePath] = field(default_factory=dict, repr=False, compare=False)

    def for_system(self, system: System) -> Calibration:
        """Return the calibration of a system's accelerator and scale-up network, or the stand-in."""
        for calibration in self.collectives:
            if (
                system.accelerator.architecture in calibration.architectures
                and system.scale_up.network in calibration.networks
                and system.scale_up.topology is Topology.SWITCH
            ):
                return calibration
        return self.unmeasured

    def collective_path(
        self,
        system: System,
        placement: Placement,
        registered_buffers: bool = False,
        nccl_version: tuple[int, ...] | None = None,
    ) -> CollectivePath:
        """Return what a group runs on, as the collective formulas see it.

        Parameters
        ----------
        system : System
            The hardware.
        placement : Placement
            Ranks that share a domain (a mesh pair has its share of the links only), and how many domains there are.
        registered_buffers : bool
            Whether the buffers are in symmetric windows.
        nccl_version : tuple[int, ...] or None
            None: the one that the tuning was read from.
        """
        version = nccl_version or version_of(self.nccl_tuning["nccl_version"])
        key = (
            system.accelerator.architecture,
            system.scale_up,
            system.scale_out,
            placement,
            registered_buffers,
            version,
        )
        if key not in self._paths:
            if len(self._paths) >= _PATHS_KEPT:
                self._paths.clear()
            self._paths[key] = self._build_path(system, placement, registered_buffers, version)
        return self._paths[key]

    def first_nccl_version(self, system: System) -> tuple[int, ...]:
        """Return the first NCCL that knows a system's GPU."""
        generation = _generation_of(system.accelerator.architecture)
        return version_of(self.nccl_tuning["first_version"].get(generation, "0"))

    def _build_path(
        self, system: System, placement: Placement, registered_buffers: bool, version: tuple[int, ...]
    ) -> CollectivePath:
        constants = self.for_system(system).constants
        link = usable_bandwidth(system.scale_up, placement.ranks_per_domain)
        generation = self._generation(system.accelerator.architecture, version)
        ll = _low_latency(constants["ll"], link)
        nvls = None
        if system.scale_up.in_switch_reduction and "nvls_channels" in generation and constants.get("nvls"):
            nvls = _nvls(constants["nvls"], generation, ll.launch_seconds, link)
        return CollectivePath(
            bandwidth_bytes_per_second=link,
            max_channels=generation["max_channels"],
            ll=ll,
            ll128=_low_latency(constants["ll128"], link),
            simple=SimpleRingConstants(**constants["simple"]),
            direct=DirectConstants(**constants["direct"]),
            nvls=nvls,
            tuning=_tuning(self.nccl_tuning, generation, link, system.scale_up.topology, placement.num_domains),
            ranks_per_domain=placement.ranks_per_domain,
            num_domains=placement.num_domains,
            fabric=self.fabrics.fabric(system.scale_out) if placement.num_domains > 1 else None,
            hosts_per_domain=placement.hosts_per_domain,
            symmetric=_symmetric(generation, system.scale_up.topology),
            registered_buffers=registered_buffers,
            nccl_version=version,
            channel_bytes_per_second=generation["channel_bandwidth"],
        )

    def _generation(self, architecture: str, version: tuple[int, ...]) -> Mapping[str, Any]:
        """Return what a version of NCCL believes of a GPU generation."""
        generations = self.nccl_tuning["generations"]
        name = _generation_of(architecture)
        if name not in generations:
            name = "ampere"
        believed = dict(generations[name])
        for change in self.nccl_tuning.get("older", ()):
            if change["generation"] == name and version < version_of(change["before"]):
                believed |= {key: value for key, value in change.items() if key in believed}
        return believed


def version_of(text: str) -> tuple[int, ...]:
    """Return "2.27.3" as numbers that compare."""
    return tuple(map(int, text.split(".")))


def _generation_of(architecture: str) -> str:
    return _GENERATION_OF.get(architecture, architecture)


def _symmetric(generation: Mapping[str, Any], topology: Topology) -> SymmetricConstants | None:
    """Kernels on symmetric windows want every GPU within reach of every other."""
    if "symmetric" not in generation or topology is not Topology.SWITCH:
        return None
    return SymmetricConstants(**{f"{name}_seconds": seconds for name, seconds in generation["symmetric"].items()})


def load_calibrations(folder: Path) -> Calibrations:
    """Read every calibration of a folder.

    Parameters
    ----------
    folder : Path
        hardware_catalog/calibrations.

    Raises
    ------
    CatalogDefect
        If a file does not hold together; names the file and the key.
    """
    collectives: list[Calibration] = []
    other_hosts: tuple[Residual, ...] = ()
    unmeasured = tuning = None
    for path in sorted(folder.glob("*.yaml")):
        if path.name.startswith("kernels-"):
            continue  # read by kernel_calibrations.py
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        try:
            if document["kind"] == "nccl-tuning":
                tuning = si(document)
            elif document["kind"] == "collectives-other-hosts":
                other_hosts = _bands(document["residuals"])
            elif document["kind"] != "collectives":
                continue
            elif document["id"] == _UNMEASURED:
                unmeasured = _calibration(document)
            else:
                collectives.append(_calibration(document))
        except (KeyError, TypeError, ValueError) as defect:
            raise CatalogDefect(path.name, str(defect), "missing or not a value with its unit") from defect
    if unmeasured is None or tuning is None:
        raise CatalogDefect(str(folder.name), _UNMEASURED, "the stand-in or the NCCL tuning is missing")
    return Calibrations(
        tuple(collectives),
        unmeasured,
        MappingProxyType(tuning),
        load_fabric_calibrations(folder),
        other_hosts,
        load_custom_all_reduce(folder),
        load_engine_calibrations(folder),
    )


def _calibration(document: Mapping[str, Any]) -> Calibration:
    constants = {name: named_constants(values) for name, values in document["constants"].items()}
    _check(constants)
    return Calibration(
        id=document["id"],
        architectures=frozenset(document["applies_to"]["architectures"]),
        networks=frozenset(document["applies_to"]["networks"]),
        constants=MappingProxyType(constants),
        residuals=_bands(document["residuals"]),
        measured=frozenset(
            (accelerator, collective, gpus)
            for accelerator, by_collective in document.get("measured", {}).items()
            for collective, counts in by_collective.items()
            for gpus in counts
        ),
        measured_up_to_bytes=si(document.get("measured_up_to", "0 B")),
        source=f"hardware_catalog/calibrations/{document['id']}.yaml",
        fitted_systems=frozenset(document.get("fitted_on", {}).get("systems", ())),
        fitted_gpus=frozenset(document.get("fitted_on", {}).get("gpus", ())),
        measured_systems=frozenset(document.get("measured_systems", ())),
    )


def _bands(residuals: Mapping[str, float] | list[Mapping[str, Any]]) -> tuple[Residual, ...]:
    if isinstance(residuals, Mapping):
        return (Residual(float("inf"), residuals["low_ratio"], residuals["high_ratio"], 0),)
    return tuple(
        Residual(
            si(band["up_to"]) if "up_to" in band else float("inf"),
            band["low_ratio"],
            band["high_ratio"],
            band["rows"],
            frozenset(band.get("collectives", ())),
        )
        for band in residuals
    )


def _check(constants: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a constant that is no figure with its unit, or one too many or too few."""
    for name, values in constants.items():
        for key, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name}.{key} = {value!r}")
    _low_latency(constants["ll"], 1.0)
    _low_latency(constants["ll128"], 1.0)
    SimpleRingConstants(**constants["simple"])
    DirectConstants(**constants["direct"])
    if "nvls" in constants:
        _nvls(constants["nvls"], {"nvls_channels": 1, "nvls_head_speeds": []}, 0.0, 1.0)


def _low_latency(constants: Mapping[str, float], link: float) -> LowLatencyConstants:
    values = dict(constants)
    if "bandwidth_ratio" in values:
        values["bandwidth_bytes_per_second"] = values.pop("bandwidth_ratio") * link
    return LowLatencyConstants(**values)


def _nvls(
    constants: Mapping[str, float], generation: Mapping[str, Any], launch_seconds: float, link: float
) -> NvlsConstants:
    return NvlsConstants(
        channels=generation["nvls_channels"],
        head_speeds_bytes_per_second=tuple(generation["nvls_head_speeds"]),
        launch_seconds=launch_seconds,
        round_seconds=constants["round_seconds"],
        round_bandwidth_bytes_per_second=constants["round_bandwidth_ratio"] * link,
        link_ratio=constants["link_ratio"],
        link_ratio_per_doubling=constants.get("link_ratio_per_doubling", 0.0),
    )


def _tuning(
    document: Mapping[str, Any], generation: Mapping[str, Any], link: float, topology: Topology, num_domains: int
) -> NcclTuning:
    hops = document["hop_latency"]["pcie" if topology is Topology.PCIE else "nvlink"]
    return NcclTuning(
        base_seconds=_by_way(document["base_latency"]),
        hop_seconds=_by_way(hops),
        link_bytes_per_second=generation["link_ratio"] * link,
        ll_bytes_per_second=generation["ll_bandwidth"],
        ll128_ratio=document["ll128_ratio"],
        ll128_bytes_per_second=generation["ll128_bandwidth"],
        tree_ratio=document["tree_ratio"],
        nvls_efficiency_ratio=generation.get("nvls_efficiency_ratio", 0.0),
        network=_network_tuning(document["network"], generation, num_domains) if num_domains > 1 else None,
    )


def _network_tuning(network: Mapping[str, Any], generation: Mapping[str, Any], num_domains: int) -> NetworkTuning:
    scale = "two_domains" if num_domains == 2 else "more_domains"
    return NetworkTuning(
        hop_seconds=_by_way(network["hop_latency"]),
        overhead_seconds=network["overhead"],
        nic_ratio=network["nic_ratio"],
        ll_bytes_per_second=network["ll_bandwidth"][scale],
        tree_bytes_per_second=generation["tree_bandwidth"][scale],
        nvls_tree_channel_bytes_per_second=generation.get("nvls_tree_channel", {}).get(scale, 0.0),
    )


def _by_way(table: Mapping[str, Mapping[str, float]]) -> dict[tuple[Algorithm, Protocol], float]:
    return {
        (Algorithm(algorithm), Protocol(protocol)): seconds
        for algorithm, by_protocol in table.items()
        for protocol, seconds in by_protocol.items()
    }
