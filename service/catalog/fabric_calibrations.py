"""What the networks between scale-up domains give NCCL: one set of constants a fabric, fitted on public runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from service.catalog.constants import named_constants
from service.core.collectives.path import Fabric
from service.core.hardware import ScaleOut
from service.errors import CatalogDefect

_FILE = "fabrics.yaml"


@dataclass(frozen=True, slots=True)
class FabricCalibration:
    """One fabric.

    Parameters
    ----------
    networks : frozenset[str]
        Catalogue ids that it stands for.
    efficiency_ratio : float
        Share of a NIC's line rate that payload reaches. [-]
    hop_seconds : float
        One hop over the network. [s]
    measured : frozenset[str]
        Networks among them that the constants were fitted on.
    """

    name: str
    networks: frozenset[str]
    efficiency_ratio: float
    hop_seconds: float
    measured: frozenset[str]


@dataclass(frozen=True, slots=True)
class FabricCalibrations:
    """All fabrics; the last stands in for networks that none names.

    Parameters
    ----------
    low_ratio, high_ratio : float
        Measured over predicted: the ends that hold 90 % of the rows of all fabrics. [-]
    rows : int
        How many those are. [-]
    """

    fabrics: tuple[FabricCalibration, ...]
    low_ratio: float
    high_ratio: float
    rows: int

    @property
    def source(self) -> str:
        """The file."""
        return f"hardware_catalog/calibrations/{_FILE}"

    def of(self, network: str) -> FabricCalibration:
        """Return the fabric of a network, or the stand-in."""
        return next((f for f in self.fabrics if network in f.networks), self.fabrics[-1])

    def fabric(self, scale_out: ScaleOut | None) -> Fabric | None:
        """Return a system's network as the formulas see it; None where there is none."""
        if scale_out is None:
            return None
        found = self.of(scale_out.network)
        return Fabric(
            scale_out.bandwidth_bytes_per_second,
            found.efficiency_ratio,
            found.hop_seconds,
            scale_out.pod_gpus,
            scale_out.taper_ratio,
            scale_out.in_switch_reduction,
        )


def load_fabric_calibrations(folder: Path) -> FabricCalibrations:
    """Read fabrics.yaml of a folder.

    Raises
    ------
    CatalogDefect
        If it is missing or does not hold together.
    """
    path = folder / _FILE
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        fabrics = []
        for entry in document["fabrics"]:
            constants = named_constants({"hop": entry["hop"], "efficiency_ratio": entry["efficiency_ratio"]})
            fabrics.append(
                FabricCalibration(
                    entry["name"],
                    frozenset(entry["networks"]),
                    float(constants["efficiency_ratio"]),
                    float(constants["hop_seconds"]),
                    frozenset(entry.get("measured", ())),
                )
            )
        residuals = document["residuals"]
        return FabricCalibrations(
            tuple(fabrics), float(residuals["low_ratio"]), float(residuals["high_ratio"]), int(residuals["rows"])
        )
    except (OSError, KeyError, TypeError, ValueError) as defect:
        raise CatalogDefect(_FILE, str(defect), "missing or not a value with its unit") from defect
