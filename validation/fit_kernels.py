"""Fits what kernels reach and writes hardware_catalog/calibrations/kernels-*.yaml, and the tables of docs/kernels.md.

    python -m validation.fit_kernels

Each GPU generation is fitted on one accelerator; the others are held out and only scored. Of Ampere there is only one:
every second shape is held out. Needs the dev requirements.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.catalog.constants import named_constants
from service.catalog.kernel_calibrations import CONSTANTS, FittedKernel, KernelCalibration, KernelFile
from validation.kernel_figures import Scored, tables, with_tables
from validation.kernel_points import KernelPoint, flash_attention_points, gemm_points, serving_attention_points

FOLDER = Path(__file__).parents[1] / "hardware_catalog" / "calibrations"
PAGE = Path(__file__).parents[1] / "docs" / "kernels.md"
COMMAND = "python -m validation.fit_kernels"
COVERAGE_RATIO = 0.9
PRIOR_WEIGHT = 0.05  # of a constant's start, in its logarithm: decides only what no row tells apart
SCALES = {"us": 1e6, "GB/s": 1e-9, "MiB": 2.0**-20, "": 1.0}
SMALL_CACHE_BYTES = 2**23
BANDS = {
    "gemm": ((16, "16"), (1024, "1024"), (math.inf, "")),
    "prefill_attention": ((1024, "1024"), (math.inf, "")),
    "decode_attention": ((2**24, "16 MiB"), (2**28, "256 MiB"), (math.inf, "")),
}


@dataclass(frozen=True, slots=True)
class Free:
    """A constant to fit: where to start, its bounds, its unit in the file."""

    start: float
    low: float
    high: float
    unit: str = ""

    def written(self, value: float) -> Any:
        """Return the value as the YAML file has it, three significant digits."""
        rounded = float(f"{value:.3g}")
        number = int(rounded) if rounded == int(rounded) else rounded
        return f"{number} {self.unit}" if self.unit else number


FREE: dict[str, dict[str, Free]] = {
    "gemm": {
        "peak_ratio": Free(0.78, 0.3, 1.0),
        "memory_ratio": Free(0.85, 0.4, 1.0),
        "feed": Free(150, 20, 2000, "GB/s"),
        "wave_ratio": Free(0.4, 0.01, 1.0),
        "ramp_elements": Free(200, 1, 4000),
        "floor": Free(3, 0.5, 15, "us"),
        "sharpness": Free(4, 1, 12),
    },
    "prefill_attention": {
        "peak_ratio": Free(0.8, 0.2, 1.0),
        "softmax_elements": Free(30, 1, 200),
        "ramp_tokens": Free(100, 1, 3000),
        "memory_ratio": Free(0.3, 0.02, 0.95),
        "floor": Free(12, 1, 30, "us"),
    },
    "decode_attention": {
        "memory_ratio": Free(0.9, 0.3, 1.0),
        "drain": Free(15, 0.5, 80, "us"),
        "ramp": Free(30, 0.5, 500, "MiB"),
        "floor": Free(10, 2, 30, "us"),
    },
}
# DeepSeek's FlashMLA, compute-bound on an H800: 660 of 989.4 TFLOP/s (its README). No table has a row that it binds.
FIXED: dict[str, dict[str, Any]] = {"gemm": {}, "prefill_attention": {}, "decode_attention": {"peak_ratio": 0.667}}


@dataclass(frozen=True, slots=True, eq=False)
class FitSet:
    """Rows that share constants: a kind of kernel in a format, by some libraries."""

    kernel: str
    name: str
    libraries: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def number_format(self) -> str:
        """The format, without the library."""
        return self.name.partition("@")[0]


@dataclass(frozen=True, slots=True)
class Generation:
    """A GPU generation: what it is fitted on, what is held out."""

    name: str
    architectures: tuple[str, ...]
    fitted_on: str
    held_out: tuple[str, ...]
    sets: tuple[FitSet, ...]

    def is_fitted(self, point: KernelPoint) -> bool:
        """Whether a row is fitted on, not only scored."""
        if self.held_out or point.library_name.startswith("flash"):
            return point.accelerator == self.fitted_on
        return point.shape[1:] not in HELD_OUT_SHAPES if point.kernel == "gemm" else point.shape[2:4] != (32, 8)


HELD_OUT_SHAPES = {(8192, 3584), (4096, 12288), (8192, 8192), (65536, 8192)}
WIDE = {"least_tile_columns": 128}
FLASH_2 = FitSet("prefill_attention", "bf16@flash_attention_2", ("flash_attention_2",))
GENERATIONS = (
    Generation(
        "ampere",
        ("ampere", "ada"),
        "a100-sxm4-80gb",
        (),
        (
            FitSet("gemm", "bf16", ("sglang",)),
            FLASH_2,
            FitSet("prefill_attention", "bf16", ("sglang",)),
            FitSet("prefill_attention", "bf16@trtllm", ("trtllm",)),
            FitSet("decode_attention", "bf16", ("trtllm",)),
            FitSet("decode_attention", "bf16@sglang", ("sglang",)),
        ),
    ),
    Generation(
        "hopper",
        ("hopper",),
        "h100-sxm5-80gb",
        ("h200-sxm-141gb",),
        (
            FitSet("gemm", "bf16", ("trtllm", "vllm")),
            FitSet("gemm", "fp8", ("trtllm",)),
            FitSet("gemm", "fp8@vllm", ("vllm",)),
            FitSet("gemm", "fp8_block", ("trtllm",)),
            FLASH_2,
            FitSet("prefill_attention", "bf16@flash_attention_3", ("flash_attention_3",)),
            FitSet("prefill_attention", "bf16", ("trtllm",)),
            FitSet("prefill_attention", "bf16@vllm", ("vllm",)),
            FitSet("prefill_attention", "fp8", ("trtllm",)),
            *(FitSet("decode_attention", f, ("trtllm",)) for f in ("bf16", "fp8")),
            *(FitSet("decode_attention", f"{f}@vllm", ("vllm",)) for f in ("bf16", "fp8")),
        ),
    ),
    Generation(
        "blackwell",
        ("blackwell", "blackwell-ultra"),
        "b200-sxm-180gb",
        ("gb200", "b300-sxm", "gb300"),
        (
            FitSet("gemm", "bf16", ("trtllm", "vllm")),
            FitSet("gemm", "fp8", ("trtllm",)),
            FitSet("gemm", "fp8@vllm", ("vllm",)),
            FitSet("gemm", "fp8_block", ("trtllm",)),
            FitSet("gemm", "nvfp4", ("trtllm",), WIDE),
            FitSet("gemm", "nvfp4@vllm", ("vllm",), WIDE),
            FitSet("prefill_attention", "bf16", ("trtllm",)),
            FitSet("prefill_attention", "bf16@vllm", ("vllm",)),
            FitSet("prefill_attention", "fp8", ("trtllm",)),
            *(FitSet("decode_attention", f, ("trtllm",)) for f in ("bf16", "fp8")),
            *(FitSet("decode_attention", f"{f}@vllm", ("vllm",)) for f in ("bf16", "fp8")),
        ),
    ),
)
# By hand: no table has kernels that only move bytes. The share of HBM is what long copies reach (GB200: 7.35 of 8 TB/s,
# Azure) less a little; a launch takes a host 3 to 6 us; the scale's floor is compute_scale_seconds at m = 1.
MEMORY_BOUND = {
    "ampere": {"memory_ratio": 0.85, "floor": "2.5 us", "launch": "4.5 us", "quantise_floor": "8 us"},
    "hopper": {"memory_ratio": 0.87, "floor": "2 us", "launch": "4.5 us", "quantise_floor": "7.1 us"},
    "blackwell": {"memory_ratio": 0.87, "floor": "2 us", "launch": "4.5 us", "quantise_floor": "8.3 us"},
}
# Clock of weeks of training under the power limit over that of a burst of milliseconds, which the tables are.
# Ampere, Hopper: bf16 multiplications of over 2 ms ran at 0.96 and 0.87 to 0.96 of the rate of those under 0.8 ms,
# against the model; torchtitan's H100 (500 W) runs 5 to 15 % under the burst. Blackwell: as Hopper, 0.90 to 1.04 there.
SUSTAINED = {"ampere": 0.96, "hopper": 0.92, "blackwell": 0.92}


class Fit:
    """One generation being fitted."""

    def __init__(self, generation: Generation, catalog: Catalog, points: Sequence[KernelPoint]) -> None:
        self.generation, self.catalog = generation, catalog
        mine = (generation.fitted_on, *generation.held_out)
        self.points = [p for p in points if p.accelerator in mine]
        self.constants: dict[FitSet, dict[str, Any]] = {}
        self._softmax_elements: float | None = None

    def rows(self, fit_set: FitSet) -> tuple[list[KernelPoint], list[KernelPoint]]:
        """Return a set's rows, fitted and held out."""
        mine = [
            p
            for p in self.points
            if (p.kernel, p.number_format) == (fit_set.kernel, fit_set.number_format)
            and p.library_name in fit_set.libraries
            and not self._from_l2(p)
        ]
        fitted = [p for p in mine if self.generation.is_fitted(p)]
        return fitted, [p for p in mine if not self.generation.is_fitted(p)]

    def _from_l2(self, point: KernelPoint) -> bool:
        """Whether a benchmark that reads one cache again and again found it in L2, which a served model's is not.

        A smaller one takes the floor's time from either. TRT-LLM 1.0 on A100 reads grouped heads so at any size.
        """
        if point.kernel != "decode_attention":
            return False
        if point.library == "trtllm/1.0.0" and point.shape[2] != point.shape[3]:
            return True
        l2_bytes = self.catalog.accelerator(point.accelerator).l2_cache_bytes or 0.0
        return SMALL_CACHE_BYTES < point.size <= l2_bytes

    def predicted(self, fit_set: FitSet, constants: Mapping[str, Any], points: Sequence[KernelPoint]) -> np.ndarray:
        """Return the model's seconds with these constants."""
        made = CONSTANTS[fit_set.kernel](**named_constants(constants))
        file = KernelFile(
            "",
            frozenset(),
            frozenset(),
            1.0,
            None,
            {(fit_set.kernel, fit_set.name): FittedKernel(made, ())},  # type: ignore[arg-type]
        )
        library = fit_set.name.partition("@")[2]
        calibrations = {
            name: KernelCalibration(self.catalog.accelerator(name), file) for name in {p.accelerator for p in points}
        }
        return np.array([p.predicted_seconds(calibrations[p.accelerator], library) for p in points])

    def fit(self, fit_set: FitSet) -> None:
        """Find a set's constants on its fitted rows."""
        points = self.rows(fit_set)[0]
        fixed = dict(FIXED[fit_set.kernel]) | dict(fit_set.fixed)
        if len({p.shape[-1] for p in points}) == 1 and fit_set.kernel == "prefill_attention":
            fixed["softmax_elements"] = self._softmax_elements or SOFTMAX_IF_ONE_HEAD_DIM
        free = {key: value for key, value in FREE[fit_set.kernel].items() if key not in fixed}
        measured = np.log([p.seconds for p in points])
        starts = np.log([f.start for f in free.values()])

        def constants(logs: np.ndarray) -> dict[str, Any]:
            units = ((key, f.unit, math.exp(x)) for (key, f), x in zip(free.items(), logs, strict=True))
            return fixed | {key: f"{value:.9f} {unit}" if unit else value for key, unit, value in units}

        def log_ratios(logs: np.ndarray) -> np.ndarray:
            found = np.log(self.predicted(fit_set, constants(logs), points)) - measured
            return np.concatenate([found, PRIOR_WEIGHT * (logs - starts)])

        bounds = ([math.log(f.low) for f in free.values()], [math.log(f.high) for f in free.values()])
        found = least_squares(
            log_ratios, starts, bounds=bounds, loss="soft_l1", f_scale=0.1, diff_step=1e-3, max_nfev=60
        )
        self.constants[fit_set] = {
            key: f.written(math.exp(x)) for (key, f), x in zip(free.items(), found.x, strict=True)
        } | fixed
        if fit_set.name in ("bf16@flash_attention_2", "bf16@flash_attention_3"):
            self._softmax_elements = self.constants[fit_set]["softmax_elements"]

    def ratios(self, fit_set: FitSet, points: Sequence[KernelPoint]) -> np.ndarray:
        """Return measured over predicted."""
        if not points:
            return np.array([])
        return np.array([p.seconds for p in points]) / self.predicted(fit_set, self.constants[fit_set], points)


SOFTMAX_IF_ONE_HEAD_DIM = 40  # Blackwell: no table has two head sizes


def _errors(ratios: np.ndarray) -> str:
    if not len(ratios):
        return ""
    off = np.abs(ratios - 1)
    return (
        f"{{rows: {len(off)}, median_error_ratio: {np.median(off):.3f}, p90_error_ratio: {np.quantile(off, 0.9):.3f}}}"
    )


def _entry(fit: Fit, fit_set: FitSet) -> Iterator[str]:
    fitted, held_out = fit.rows(fit_set)
    libraries = sorted({p.library for p in fitted})
    constants = ", ".join(f"{key}: {value}" for key, value in fit.constants[fit_set].items())
    yield f'  "{fit_set.name}":'
    yield f"    libraries: [{', '.join(libraries)}]"
    yield f"    constants: {{{constants}}}"
    yield "    residuals:"
    previous = 0.0
    tail = (1 - COVERAGE_RATIO) / 2
    for upper, label in BANDS[fit_set.kernel]:
        band = [[p for p in rows if previous < p.size <= upper] for rows in (fitted, held_out)]
        previous = upper
        each = [fit.ratios(fit_set, rows) for rows in band]
        together = np.concatenate(each)
        if not len(together):
            continue
        low, high = np.quantile(together, tail), np.quantile(together, 1 - tail)
        start = f"up_to: {label}, " if label else ""
        parts = "".join(
            f",\n         {name}: {_errors(ratios)}"
            for name, ratios in zip(("fitted", "held_out"), each, strict=True)
            if len(ratios)
        )
        yield f"      - {{{start}low_ratio: {low:.3f}, high_ratio: {high:.3f}{parts}}}"


def _yaml(fit: Fit) -> str:
    generation = fit.generation
    lines = [
        f"# Written by `{COMMAND}`; do not edit. Times are modelled in service/core/kernels.",
        "# Tables: validation/kernel_gemm.csv and kernel_attention.csv (NVIDIA aiconfigurator-core 0.12.0,",
        "# Apache-2.0), validation/kernel_flash_attention.csv (charts of Dao-AILab/flash-attention).",
        f"id: kernels-{generation.name}",
        "kind: kernels",
        f"fitted_by: {COMMAND}",
        f"applies_to: {{architectures: [{', '.join(generation.architectures)}]}}",
        f"fitted_on: [{generation.fitted_on}]",
        f"held_out: [{', '.join(generation.held_out)}]",
        f"measured: [{', '.join((generation.fitted_on, *generation.held_out))}]",
        "",
        "# By hand, see validation/fit_kernels.py. sustained_ratio is in no other constant.",
        f"sustained_ratio: {SUSTAINED[generation.name]}",
        f"memory_bound: {{{', '.join(f'{k}: {v}' for k, v in MEMORY_BOUND[generation.name].items())}}}",
        "",
        "# low_ratio and high_ratio hold the middle 90 % of measured over predicted, fitted and held out together;",
        "# up_to is of m, of a prompt's tokens, of the bytes of a cache.",
    ]
    for kernel in FREE:
        lines += ["", f"{kernel}:"]
        for fit_set in generation.sets:
            if fit_set.kernel == kernel:
                lines += _entry(fit, fit_set)
    return "\n".join(lines) + "\n"


def scored(fit: Fit) -> Iterator[Scored]:
    """Yield every row of a generation with measured over predicted."""
    for fit_set in fit.generation.sets:
        for fitted, rows in zip((True, False), fit.rows(fit_set), strict=True):
            for point, ratio in zip(rows, fit.ratios(fit_set, rows), strict=True):
                yield fit_set.kernel, fit_set.name, fitted, point, float(ratio)


def written() -> Iterator[tuple[Path, str]]:
    """Fit everything; yield each file and what it should say."""
    fits = list(fitted_generations())
    for fit in fits:
        yield FOLDER / f"kernels-{fit.generation.name}.yaml", _yaml(fit)
    rows = [row for fit in fits for row in scored(fit)]
    yield PAGE, with_tables(PAGE.read_text(encoding="utf-8"), tables(rows, BANDS))


def fitted_generations() -> Iterator[Fit]:
    """Fit every generation."""
    catalog = load_shipped_catalog()
    points = [*gemm_points(), *serving_attention_points(), *flash_attention_points()]
    for generation in GENERATIONS:
        fit = Fit(generation, catalog, points)
        for fit_set in generation.sets:
            fit.fit(fit_set)
        yield fit


def main() -> None:
    """Fit every generation and write its file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for path, text in written():
        path.write_text(text, encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
