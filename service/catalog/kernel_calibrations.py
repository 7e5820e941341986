"""Kernel calibrations: what a GPU generation's kernels reach, read from hardware_catalog/calibrations/kernels-*.yaml.

A file applies to GPU architectures. Inside it, each kind of kernel has constants by number format, and by library
where libraries differ: `fp8` is the default, `fp8@vllm` that library's. `kernels-unmeasured` stands in elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from service.catalog.constants import named_constants, si
from service.core.hardware import Accelerator
from service.core.kernels.attention import AttentionConstants, AttentionEngine, DecodeConstants, DecodeEngine
from service.core.kernels.formats import GEMM_FORMATS, weight_only
from service.core.kernels.gemm import GemmConstants, GemmEngine
from service.core.kernels.memory_bound import MemoryBoundConstants
from service.errors import CatalogDefect

_UNMEASURED = "kernels-unmeasured"
_SMS_IF_UNKNOWN = 128  # a TPU or a custom accelerator does not say; only how the last wave is cut depends on it
CONSTANTS = {"gemm": GemmConstants, "prefill_attention": AttentionConstants, "decode_attention": DecodeConstants}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class KernelResidual:
    """How far predictions of one class of sizes were from the measurements.

    Parameters
    ----------
    up_to : float
        Upper end of the class: m of a GEMM, tokens of a prompt, bytes of a cache; infinity for the last.
    low_ratio, high_ratio : float
        Measured over predicted: the ends that hold 90 % of the rows. [-]
    measured : bool
        Whether it was taken on this accelerator in this format; else it is the generation's, widened.
    """

    up_to: float
    low_ratio: float
    high_ratio: float
    measured: bool = True


@dataclass(frozen=True, slots=True)
class FittedKernel:
    """One kind of kernel in one format, by one library."""

    constants: GemmConstants | AttentionConstants | DecodeConstants
    residuals: tuple[KernelResidual, ...]


@dataclass(frozen=True)
class KernelFile:
    """One file.

    Parameters
    ----------
    measured : frozenset[str]
        Accelerators that the residuals were taken on.
    sustained_ratio : float
        Clock of long training under its power limit, over that of a short burst. [-]
    """

    id: str
    architectures: frozenset[str]
    measured: frozenset[str]
    sustained_ratio: float
    memory_bound: MemoryBoundConstants
    kernels: Mapping[tuple[str, str], FittedKernel]

    @property
    def source(self) -> str:
        """Where it stands."""
        return f"hardware_catalog/calibrations/{self.id}.yaml"


@dataclass(frozen=True)
class KernelCalibration:
    """What one accelerator's kernels reach: engines for the formulas of `service.core.kernels`.

    Parameters
    ----------
    measured : bool
        Whether this very accelerator was measured; else it takes the curve of its generation.
    """

    accelerator: Accelerator
    file: KernelFile
    _engines: dict[tuple[str, str, str], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def measured(self) -> bool:
        """Whether this accelerator was measured."""
        return self.accelerator.id in self.file.measured

    @property
    def source(self) -> str:
        """The file."""
        return self.file.source

    @property
    def sustained_ratio(self) -> float:
        """Clock of long training over that of a short burst; not in any of the engines. [-]"""
        return self.file.sustained_ratio

    @property
    def memory_bound(self) -> MemoryBoundConstants:
        """Constants of kernels that only move bytes."""
        return self.file.memory_bound

    def supports(self, gemm_format: str) -> bool:
        """Return whether the hardware multiplies in a format; else its weights are widened on the way (weight only)."""
        return any(peak in self.accelerator.peak_flops_per_second for peak in GEMM_FORMATS[gemm_format].peaks)

    def gemm(self, gemm_format: str, library: str = "") -> GemmEngine:
        """Return the engine of a number format (a key of GEMM_FORMATS), and of a library where it was measured.

        Raises
        ------
        KeyError
            For a format that is none.
        """
        key = ("gemm", gemm_format, library)
        if key not in self._engines:
            asked = GEMM_FORMATS[gemm_format]
            used = asked if self.supports(gemm_format) else weight_only(asked)
            self._engines[key] = GemmEngine(
                self._peak(used.peaks),
                self.accelerator.memory_bandwidth_bytes_per_second,
                self.accelerator.sm_count or _SMS_IF_UNKNOWN,
                used.activation_bytes,
                used.weight_bytes,
                used.output_bytes,
                self._fitted("gemm", gemm_format, library)[0].constants,  # type: ignore[arg-type]
            )
        engine: GemmEngine = self._engines[key]
        return engine

    def attention(self, attention_format: str = "bf16", library: str = "") -> AttentionEngine:
        """Return the engine of flash attention in `bf16`, `fp16` or `fp8`.

        Parameters
        ----------
        attention_format : str
            Of q, k, v; where the hardware has no such peak, 16 bit.
        library : str
            `trtllm`, `vllm`, `flash_attention_2` or `flash_attention_3`, where it was measured; else the default.
        """
        key = ("prefill_attention", attention_format, library)
        if key not in self._engines:
            narrow = attention_format == "fp8" and "fp8" in self.accelerator.peak_flops_per_second
            self._engines[key] = AttentionEngine(
                self._peak(("fp8",) if narrow else ("bf16", "fp16")),
                self.accelerator.memory_bandwidth_bytes_per_second,
                1.0 if narrow else 2.0,
                self._fitted("prefill_attention", "fp8" if narrow else "bf16", library)[0].constants,  # type: ignore[arg-type]
            )
        engine: AttentionEngine = self._engines[key]
        return engine

    def decode_attention(self, kv_format: str = "bf16", library: str = "") -> DecodeEngine:
        """Return the engine of attention for one new token, with the cache in `bf16`, `fp16`, `fp8` or `int8`."""
        key = ("decode_attention", kv_format, library)
        if key not in self._engines:
            narrow = kv_format in ("fp8", "int8")
            self._engines[key] = DecodeEngine(
                self._peak(("bf16", "fp16")),
                self.accelerator.memory_bandwidth_bytes_per_second,
                1.0 if narrow else 2.0,
                self._fitted("decode_attention", "fp8" if narrow else "bf16", library)[0].constants,  # type: ignore[arg-type]
            )
        engine: DecodeEngine = self._engines[key]
        return engine

    def residual(self, kernel: str, number_format: str, size: float, library: str = "") -> KernelResidual:
        """Return how far predictions are off.

        Parameters
        ----------
        kernel : str
            `gemm`, `prefill_attention` or `decode_attention`.
        number_format : str
            As for the engine.
        size : float
            m of a GEMM; tokens of a prompt; bytes of a cache that one kernel reads.
        library : str
            As for the engine.
        """
        fitted, own = self._fitted(kernel, number_format, library)
        found = next(r for r in fitted.residuals if size <= r.up_to)
        if own and self.measured:
            return found
        return KernelResidual(found.up_to, found.low_ratio**2, found.high_ratio**2, False)

    def _fitted(self, kernel: str, number_format: str, library: str) -> tuple[FittedKernel, bool]:
        """Constants and whether they are of the very format: the library's, the default, a format that stands in."""
        kernels = self.file.kernels
        names: tuple[str, ...] = (number_format, "bf16")
        if kernel == "gemm":
            names = (
                (number_format, *GEMM_FORMATS[number_format].stands_for) if self.supports(number_format) else ("bf16",)
            )
        for name in names:
            for key in (f"{name}@{library}", name):
                if (kernel, key) in kernels:
                    return kernels[kernel, key], name == number_format
        return kernels[kernel, "bf16"], False

    def _peak(self, names: tuple[str, ...]) -> float:
        peaks = self.accelerator.peak_flops_per_second
        return next((peaks[name] for name in names if name in peaks), max(peaks.values()))


@dataclass(frozen=True)
class KernelCalibrations:
    """All files."""

    files: tuple[KernelFile, ...]
    unmeasured: KernelFile

    def for_accelerator(self, accelerator: Accelerator) -> KernelCalibration:
        """Return what an accelerator's kernels reach: by its generation's file, or by the stand-in."""
        file = next((f for f in self.files if accelerator.architecture in f.architectures), self.unmeasured)
        return KernelCalibration(accelerator, file)


@cache
def load_kernel_calibrations(folder: Path) -> KernelCalibrations:
    """Read every kernels-*.yaml of a folder, once.

    Raises
    ------
    CatalogDefect
        If a file does not hold together; names the file and the key.
    """
    files: dict[str, KernelFile] = {}
    for path in sorted(folder.glob("kernels-*.yaml")):
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
            files[path.stem] = _file(document)
        except (yaml.YAMLError, KeyError, TypeError, ValueError) as defect:
            raise CatalogDefect(path.name, str(defect), "missing or not a value with its unit") from defect
    if _UNMEASURED not in files:
        raise CatalogDefect(folder.name, _UNMEASURED, "the stand-in is missing")
    unmeasured = files.pop(_UNMEASURED)
    return KernelCalibrations(tuple(files.values()), unmeasured)


def _file(document: Mapping[str, Any]) -> KernelFile:
    kernels = {
        (kernel, name): FittedKernel(made(**named_constants(entry["constants"])), _residuals(entry["residuals"]))
        for kernel, made in CONSTANTS.items()
        for name, entry in document[kernel].items()
    }
    if not all((kernel, "bf16") in kernels for kernel in CONSTANTS):
        raise ValueError("bf16 is what stands in for every format, and is missing")
    return KernelFile(
        id=document["id"],
        architectures=frozenset(document["applies_to"]["architectures"]),
        measured=frozenset(document.get("measured", ())),
        sustained_ratio=float(document["sustained_ratio"]),
        memory_bound=MemoryBoundConstants(**named_constants(document["memory_bound"])),
        kernels=MappingProxyType(kernels),
    )


def _residuals(bands: list[Mapping[str, Any]]) -> tuple[KernelResidual, ...]:
    return tuple(
        KernelResidual(si(band.get("up_to", math.inf)), float(band["low_ratio"]), float(band["high_ratio"]))
        for band in bands
    )
