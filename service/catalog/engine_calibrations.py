"""Serving engines' constants and how far their predictions were off, from calibrations/inference-engines.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from service.catalog.constants import named_constants
from service.core.inference.engine import EngineConstants
from service.errors import CatalogDefect

_FILE = "inference-engines"


@dataclass(frozen=True, slots=True)
class EngineResidual:
    """Measured over predicted output tokens/s of one kind of rows.

    Parameters
    ----------
    low_ratio, high_ratio : float
        The ends that hold the middle 90 % of them. [-]
    engines, families, kinds : frozenset[str]
        What it is of; empty: all. Families: dense, mixture of experts. Kinds: throughput (as many requests as fit),
        concurrency, latency (one).
    """

    low_ratio: float
    high_ratio: float
    rows: int
    name: str
    engines: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    def holds(self, engine: str, family: str, kind: str) -> bool:
        """Return whether an estimate is of these rows' kind."""
        asked = ((self.engines, engine), (self.families, family), (self.kinds, kind))
        return all(not values or value in values for values, value in asked)


@dataclass(frozen=True, slots=True)
class EngineCalibrations:
    """All engines, and the residuals, narrower strata first."""

    engines: Mapping[str, EngineConstants]
    residuals: tuple[EngineResidual, ...]
    source: str = f"hardware_catalog/calibrations/{_FILE}.yaml"

    def residual(self, engine: str, family: str, kind: str) -> EngineResidual:
        """Return the first stratum that an estimate is in; the last one holds everything."""
        found = (r for r in self.residuals if r.holds(engine, family, kind))
        return next(found, self.residuals[-1])


NO_ENGINES = EngineCalibrations(MappingProxyType({}), ())
"""None at all."""


@cache
def load_engine_calibrations(folder: Path) -> EngineCalibrations:
    """Read the file of a folder, once.

    Raises
    ------
    CatalogDefect
        If it is missing or does not hold together.
    """
    path = folder / f"{_FILE}.yaml"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        engines = {name: EngineConstants(**_typed(constants)) for name, constants in document["engines"].items()}
        residuals = tuple(_residual(entry) for entry in document["residuals"])
        if "generic" not in engines or not residuals:
            raise ValueError("the generic engine and at least one stratum are needed")
    except (OSError, KeyError, TypeError, ValueError) as defect:
        raise CatalogDefect(path.name, str(defect), "missing or not a value with its unit") from defect
    return EngineCalibrations(MappingProxyType(engines), residuals)


def _typed(constants: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = named_constants(constants)
    for key, value in named.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{key} = {value!r}")
    return named


def _residual(entry: Mapping[str, Any]) -> EngineResidual:
    return EngineResidual(
        low_ratio=float(entry["low_ratio"]),
        high_ratio=float(entry["high_ratio"]),
        rows=int(entry["rows"]),
        name=str(entry["name"]),
        engines=frozenset(entry.get("engines", ())),
        families=frozenset(entry.get("families", ())),
        kinds=frozenset(entry.get("kinds", ())),
    )
