"""The shape that every answer has, whatever was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class DerivationLine:
    """One step of the working, as a reader with a pencil would write it."""

    symbol: str
    label: str
    expression: str
    value: float | int | str
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class EstimateWarning:
    """Something the reader should know before using the figure."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class EstimateRange:
    """Bounds of the headline figure, and what their width comes from."""

    low: float
    high: float
    coverage_ratio: float
    basis_kind: str  # measured | calibrated | speed_of_light
    basis: str

    def shifted(self, by: float) -> EstimateRange:
        """Return the range of a figure that has something known added."""
        return replace(self, low=self.low + by, high=self.high + by)


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answer: a pure function of the question, the engine version and the catalogue revision.

    Parameters
    ----------
    kind : str
        Last path segment of the endpoint.
    inputs : Mapping[str, Any]
        The question resolved: ids for aliases, defaults filled in.
    result, ideal : object
        Frozen dataclasses of the kind; field names are those of the API.
    """

    kind: str
    inputs: Mapping[str, Any]
    result: Any
    range: EstimateRange
    ideal: Any
    derivation: tuple[DerivationLine, ...]
    warnings: tuple[EstimateWarning, ...]
    engine_version: str
    catalog_revision: str
