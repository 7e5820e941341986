"""Constants of expert dispatch and combine, read from hardware_catalog/calibrations/expert-exchange.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from service.catalog.constants import named_constants
from service.core.collectives.expert_exchange import ExchangeConstants
from service.core.hardware import System
from service.errors import CatalogDefect

FILE = "expert-exchange.yaml"
# Bytes of one element on the wire with its scales: fp8 has one of 4 B for 128 elements, nvfp4 one of 1 B for 16.
WIRE_BYTES: Mapping[str, float] = MappingProxyType(
    {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1 + 4 / 128, "nvfp4": 1 / 2 + 1 / 16}
)
_INDEX_BYTES = 4


def token_bytes(phase: str, hidden_size: int, dtype: str) -> float:
    """Return what one copy of a token is on the wire: its activations with their scales, or in `prepare` an index.

    Parameters
    ----------
    phase : str
        dispatch, combine or prepare.
    hidden_size : int
        Elements of a token.
    dtype : str
        Of `WIRE_BYTES`.
    """
    return float(_INDEX_BYTES) if phase == "prepare" else hidden_size * WIRE_BYTES[dtype]


@dataclass(frozen=True, slots=True)
class ExchangeCalibration:
    """One kernel of one library, one phase and dtype, on one kind of board.

    Parameters
    ----------
    implementation, kernel, phase, dtype : str
        Such as sglang, deepep_normal, dispatch and fp8.
    bands : tuple[tuple[float, float, float], ...]
        (up to tokens, low, high): measured over predicted, the middle 90 % of the rows.
    measured : frozenset[tuple[str, int]]
        (system, GPUs) that the residuals were taken on.
    sms : tuple[int, ...]
        SMs it was measured with; empty where the kernel takes its own choice.
    rows : int
        How many rows. [-]
    fitted_on : str
        The system that set the constants; the others were held out.
    """

    implementation: str
    kernel: str
    phase: str
    dtype: str
    constants: ExchangeConstants
    bands: tuple[tuple[float, float, float], ...]
    measured: frozenset[tuple[str, int]]
    sms: tuple[int, ...]
    rows: int
    fitted_on: str

    @property
    def systems(self) -> frozenset[str]:
        """Systems among its rows."""
        return frozenset(system for system, _ in self.measured)

    def band(self, tokens: int) -> tuple[float, float]:
        """Return the residuals' ends for a number of tokens."""
        return next((low, high) for upper, low, high in self.bands if tokens <= upper)


@dataclass(frozen=True, slots=True)
class ExchangeCalibrations:
    """All of them, by board.

    Parameters
    ----------
    boards : tuple[tuple[frozenset[str], frozenset[str], tuple[ExchangeCalibration, ...]], ...]
        Accelerators that were measured, architectures that they stand for, and what was measured.
    """

    boards: tuple[tuple[frozenset[str], frozenset[str], tuple[ExchangeCalibration, ...]], ...]

    @property
    def source(self) -> str:
        """The file."""
        return f"hardware_catalog/calibrations/{FILE}"

    def of(self, system: System) -> tuple[ExchangeCalibration, ...]:
        """Return what was measured on a system's accelerator, or else on its generation; empty where nothing was."""
        accelerator, architecture = system.accelerator.id, system.accelerator.architecture
        for accelerators, _, found in self.boards:
            if accelerator in accelerators:
                return found
        return next((found for _, architectures, found in self.boards if architecture in architectures), ())


def load_exchange_calibrations(folder: Path) -> ExchangeCalibrations:
    """Read the file of a folder.

    Raises
    ------
    CatalogDefect
        If it is missing or does not hold together.
    """
    try:
        document = yaml.load((folder / FILE).read_text(encoding="utf-8"), Loader=_LOADER)
        return ExchangeCalibrations(
            tuple(
                (
                    frozenset(board["accelerators"]),
                    frozenset(board["architectures"]),
                    tuple(_calibration(entry, board["fitted_on"]) for entry in board["kernels"]),
                )
                for board in document["boards"]
            )
        )
    except (OSError, KeyError, TypeError, ValueError) as defect:
        raise CatalogDefect(FILE, str(defect), "missing or not a value with its unit") from defect


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _calibration(entry: Mapping[str, Any], fitted_on: str) -> ExchangeCalibration:
    return ExchangeCalibration(
        implementation=entry["implementation"],
        kernel=entry["kernel"],
        phase=entry["phase"],
        dtype=entry["dtype"],
        constants=ExchangeConstants(per_expert=bool(entry["per_expert"]), **named_constants(entry["constants"])),
        bands=tuple((float(b.get("up_to", "inf")), float(b["low"]), float(b["high"])) for b in entry["residuals"]),
        measured=frozenset((system, n) for system, counts in entry["measured"].items() for n in counts),
        sms=tuple(entry["sms"]),
        rows=int(entry["rows"]),
        fitted_on=fitted_on,
    )
