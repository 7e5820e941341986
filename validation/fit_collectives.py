"""Fits the constants of the collective model and writes hardware_catalog/calibrations/collectives-*.yaml.

    python -m validation.fit_collectives

Each GPU generation is fitted on the named systems and GPU counts; the other systems of the generation, and the
other counts, are held out and only scored. Which algorithm and protocol a row ran is what NCCL's own tuner model
picks (service/core/collectives/nccl_selection.py), so no row is assigned by hand. Needs the dev requirements.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.optimize import least_squares

from service.catalog.calibrations import Calibration, Calibrations, Residual, load_calibrations
from service.catalog.constants import named_constants
from service.catalog.measurements import CollectivePoint, newest_single_node, public_single_domain
from service.core.collectives.algorithms import candidates, chosen
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.hardware import Accelerator, ScaleUp, System, Topology
from service.core.numerics import Dtype
from service.core.placement import Placement

FOLDER = Path(__file__).parents[1] / "hardware_catalog" / "calibrations"
OTHER_HOSTS = FOLDER / "collectives-other-hosts.yaml"
COMMAND = "python -m validation.fit_collectives"
BANDS = ((262144, "256 KiB"), (67108863, "64 MiB"), (math.inf, "any size"))
COVERAGE_RATIO = 0.9
# What is timed by the same constants has the same residuals; the rest has no table and a range of its own.
STRATA = {
    "rings, trees and switches": ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"),
    "point to point": ("all_to_all", "send_recv"),
}
# Weight of a constant's start in the fit, against its logarithm: it decides only what no row tells apart, so that
# another processor's rounding ends at the same figures.
PRIOR_WEIGHT = 0.05
LARGEST_RACK_BYTES = 1 << 32  # 72 GPUs need larger ones
LARGEST_BYTES = 1 << 30  # only public runs reach the buffers where the switch itself is the limit


ACCELERATORS = {
    "dgx-a100": "a100-sxm4-80gb",
    "dgx-h100": "h100-sxm5-80gb",
    "dgx-h200": "h200-sxm-141gb",
    "dgx-b200": "b200-sxm-180gb",
    "dgx-b300": "b300-sxm",
    "gb200-nvl72": "gb200",
}


HOSTS = {
    "dgx-a100": "ampere-nvlink3",
    "azure-nd96asr-v4": "ampere-nvlink3",
    "dgx-h100": "hopper-nvlink4",
    "dgx-h200": "hopper-nvlink4",
    "azure-nd96isr-h200-v5": "hopper-nvlink4",
    "gcp-a3-ultragpu-8g": "hopper-nvlink4",
    "dgx-b200": "blackwell-nvlink5",
    "gb200-nvl72": "blackwell-nvlink5",
}


@dataclass(frozen=True, slots=True)
class Generation:
    """A GPU generation on its NVLink, what it is fitted on and what is held out."""

    id: str
    architectures: tuple[str, ...]
    networks: tuple[str, ...]
    link_bytes_per_second: float
    in_switch_reduction: bool
    fitted_systems: tuple[str, ...]
    held_out_systems: tuple[str, ...]
    switch_limit_systems: tuple[str, ...] = ()  # whose public runs of 8 GPUs say what the switch sustains
    fitted_gpus: tuple[int, ...] = (2, 8)

    @property
    def file(self) -> Path:
        """Where its constants are written."""
        return FOLDER / f"collectives-{self.id}.yaml"

    def system(self) -> System:
        """Return a system of the generation, as far as the formulas read it."""
        link = self.link_bytes_per_second
        accelerator = Accelerator(self.id, self.id, "", self.architectures[0], {}, 1.0, 1.0)
        scale_up = ScaleUp(self.networks[0], Topology.SWITCH, link, 2 * link, link, 72, self.in_switch_reduction)
        return System(self.id, self.id, accelerator, 8, scale_up, None, 72)


GENERATIONS = (
    Generation("ampere-nvlink3", ("ampere",), ("nvlink3", "nvlink3-a800"), 300e9, False, ("dgx-a100",), ()),
    Generation(
        "hopper-nvlink4",
        ("hopper",),
        ("nvlink4", "nvlink4-h800"),
        450e9,
        True,
        ("dgx-h100",),
        ("dgx-h200",),
        ("dgx-h100",),
    ),
    Generation(
        "blackwell-nvlink5",
        ("blackwell", "blackwell-ultra"),
        ("nvlink5",),
        900e9,
        True,
        ("dgx-b200",),
        ("dgx-b300", "gb200-nvl72"),
        ("gb200-nvl72",),
    ),
)


@dataclass(frozen=True, slots=True)
class Free:
    """A constant to fit: where to start, its bounds, and how the file writes it."""

    start: float
    low: float
    high: float
    unit: str = ""

    def written(self, value: float) -> Any:
        """Return the value as the YAML file has it, three significant digits."""
        scale = {"us": 1e6, "GB/s": 1e-9, "B": 1.0}.get(self.unit)
        rounded = float(f"{value * (scale or 1):.3g}")
        number = int(rounded) if rounded == int(rounded) else rounded
        return f"{number} {self.unit}" if self.unit else number


def free_constants(link: float) -> dict[str, dict[str, Free]]:
    """Return what is fitted, path by path; a rate cannot pass the link."""
    return {
        "ll": {
            "launch": Free(5e-6, 1e-6, 3e-5, "us"),
            "hop": Free(1e-6, 2e-7, 1e-5, "us"),
            "crowding_ratio": Free(0.2, 1e-3, 1.0),
            "bandwidth": Free(0.3 * link, 0.05 * link, link, "GB/s"),
        },
        "ll128": {
            "launch": Free(1.5e-5, 1e-6, 4e-5, "us"),
            "hop": Free(1e-6, 1e-7, 1e-5, "us"),
            "bandwidth": Free(0.6 * link, 0.1 * link, 120 / 128 * link, "GB/s"),
        },
        "simple": {
            "launch": Free(5e-6, 1e-6, 3e-5, "us"),
            "step": Free(2e-6, 1e-7, 2e-5, "us"),
            "handshake": Free(5e-6, 1e-7, 3e-5, "us"),
            "link_ratio": Free(0.8, 0.4, 1.0),
            "copy": Free(1e12, 1e11, 5e12, "GB/s"),
        },
        "nvls": {
            "round": Free(7e-6, 1e-6, 3e-5, "us"),
            "round_bandwidth_ratio": Free(0.8, 0.4, 1.0),
        },
        "direct": {
            "launch": Free(8e-6, 2e-6, 1.2e-5, "us"),
            "low_latency": Free(1e10, 2e9, 3e10, "GB/s"),
            "handshake": Free(4e-6, 1e-7, 2e-5, "us"),
            "link_ratio": Free(0.75, 0.4, 1.0),
            "copy": Free(1e12, 1e11, 5e12, "GB/s"),
            "sharpness": Free(0.8, 0.5, 2.0),
        },
    }


FIXED = {"ll": {"line": "4096 B"}, "ll128": {"crowding_ratio": 0, "line": "0 B"}, "nvls": {"link_ratio": 1.0}}

Way = tuple[CollectivePoint, Algorithm, Protocol]


def path_name(algorithm: Algorithm, protocol: Protocol) -> str:
    """Return which set of constants times a way."""
    return algorithm.value if algorithm in (Algorithm.NVLS, Algorithm.DIRECT) else protocol.value


class Fit:
    """One generation being fitted."""

    def __init__(self, generation: Generation, shipped: Calibrations) -> None:
        self.generation = generation
        self.shipped = shipped
        self.free = free_constants(generation.link_bytes_per_second)
        self.constants: dict[str, dict[str, Any]] = {
            name: {key: free.written(free.start) for key, free in table.items()} | FIXED.get(name, {})
            for name, table in self.free.items()
        }
        if not generation.in_switch_reduction:
            del self.constants["nvls"], self.free["nvls"]

    def calibrations(self, constants: Mapping[str, Mapping[str, Any]]) -> Calibrations:
        """Return the shipped calibrations with this generation's replaced."""
        mine = Calibration(
            self.generation.id,
            frozenset(self.generation.architectures),
            frozenset(self.generation.networks),
            {name: named_constants(table) for name, table in constants.items()},
            (Residual(math.inf, 1.0, 1.0, 0),),
            frozenset(),
            0.0,
            "",
        )
        return dataclasses.replace(self.shipped, collectives=(mine,), _paths={})

    def predictor(self, constants: Mapping[str, Mapping[str, Any]]) -> Callable[[CollectivePoint], tuple[float, str]]:
        """Return a function from a point to the predicted seconds and the path NCCL's tuner picks."""
        calibrations, system = self.calibrations(constants), self.generation.system()
        paths = {n: calibrations.collective_path(system, Placement(n, min(n, 8), n)) for n in range(2, 73)}

        def predict(point: CollectivePoint) -> tuple[float, str]:
            ways = candidates(
                Collective(point.collective), Dtype(point.dtype), point.gpus, point.size_bytes, paths[point.gpus]
            )
            way = chosen(ways)
            if way.cost is None:
                raise ValueError(f"no way for {point}")
            return way.cost.seconds, path_name(way.algorithm, way.protocol)

        return predict

    def fit(self, points: Sequence[CollectivePoint]) -> None:
        """Fit every path on the points that NCCL's tuner gives it."""
        assign = self.predictor(self.constants)
        by_path: dict[str, list[CollectivePoint]] = {}
        for point in points:
            by_path.setdefault(assign(point)[1], []).append(point)
        for name, table in self.free.items():
            if by_path.get(name):
                self._fit_path(name, table, by_path[name])

    def _fit_path(self, name: str, table: Mapping[str, Free], points: Sequence[CollectivePoint]) -> None:
        keys = list(table)

        def with_values(logs: np.ndarray) -> dict[str, dict[str, Any]]:
            exact = {
                key: f"{math.exp(x) * {'us': 1e6, 'GB/s': 1e-9}[table[key].unit]:.12f} {table[key].unit}"
                if table[key].unit
                else math.exp(x)
                for key, x in zip(keys, logs, strict=True)
            }
            return self.constants | {name: self.constants[name] | exact}

        starts = [math.log(table[k].start) for k in keys]

        def log_ratios(logs: np.ndarray) -> list[float]:
            predict = self.predictor(with_values(logs))
            priors = [PRIOR_WEIGHT * (x - start) for x, start in zip(logs, starts, strict=True)]
            return [*(math.log(predict(point)[0] / point.seconds) for point in points), *priors]

        found = least_squares(
            log_ratios,
            starts,
            bounds=([math.log(table[k].low) for k in keys], [math.log(table[k].high) for k in keys]),
            loss="soft_l1",
            f_scale=0.1,
            max_nfev=80,
        )
        for key, x in zip(keys, found.x, strict=True):
            self.constants[name][key] = table[key].written(math.exp(x))

    def fit_switch(self, public: Sequence[CollectivePoint]) -> int:
        """Set what the switch sustains, from public runs of the systems named for it. Returns the rows used."""
        mine = [p for p in public if p.system in self.generation.switch_limit_systems]
        rows = self.fit_switch_limit([p for p in mine if p.gpus == 8]) if self.generation.in_switch_reduction else 0
        self.fit_rack_slope(mine)
        return rows

    def fit_switch_limit(self, points: Sequence[CollectivePoint]) -> int:
        """Set the rate the switch sustains: the median over public runs of 1 GiB and more. Returns the rows used."""
        link = self.generation.link_bytes_per_second
        ratios = [
            p.size_bytes * (1 + 1 / p.gpus) / p.seconds / link
            for p in points
            if p.size_bytes >= LARGEST_BYTES
            and p.collective == "all_reduce"
            and self.predictor(self.constants)(p)[1] == "nvls"
        ]
        if ratios:
            self.constants["nvls"]["link_ratio"] = float(f"{np.median(ratios):.3g}")
        return len(ratios)

    def fit_rack_slope(self, points: Sequence[CollectivePoint]) -> int:
        """Set what each doubling of the GPUs past 8 takes off the switch's share: rows of 1 GiB and more of a rack."""
        link, largest = self.generation.link_bytes_per_second, max((p.gpus for p in points), default=8)
        ratios = [
            p.size_bytes * (1 + 1 / min(p.gpus, 32)) / p.seconds / link
            for p in points
            if p.size_bytes >= LARGEST_RACK_BYTES and p.gpus == largest > 8 and p.collective == "all_reduce"
        ]
        if ratios:
            slope = (self.constants["nvls"]["link_ratio"] - float(np.median(ratios))) / math.log2(largest / 8)
            self.constants["nvls"]["link_ratio_per_doubling"] = float(f"{slope:.2g}")
        return len(ratios)

    def scores(self, points: Sequence[CollectivePoint]) -> list[tuple[CollectivePoint, float]]:
        """Return measured over predicted for each point."""
        predict = self.predictor(self.constants)
        return [(point, point.seconds / predict(point)[0]) for point in points]


def _quantile(values: Sequence[float], share: float) -> float:
    return float(f"{np.quantile(values, share):.3f}")


def _bands(scores: Sequence[tuple[CollectivePoint, float]]) -> list[dict[str, Any]]:
    rows, previous = [], 0.0
    for upper, label in BANDS:
        ratios = [ratio for point, ratio in scores if previous < point.size_bytes <= upper]
        previous = upper
        tail = (1 - COVERAGE_RATIO) / 2
        errors = [abs(r - 1) for r in ratios]
        rows.append(
            {"label": label, "upper": upper, "rows": len(ratios)}
            | (
                {
                    "low_ratio": _quantile(ratios, tail),
                    "high_ratio": _quantile(ratios, 1 - tail),
                    "median_error_ratio": _quantile(errors, 0.5),
                    "p90_error_ratio": _quantile(errors, 0.9),
                }
                if ratios
                else {}
            )
        )
    return rows


def _yaml(fit: Fit, fitted: Sequence[CollectivePoint], held_out: Sequence[CollectivePoint], switch_rows: int) -> str:
    generation = fit.generation
    points = [*fitted, *held_out]
    lines = [
        f"# Written by `{COMMAND}`; do not edit. Times are modelled in service/core/collectives.",
        f"id: collectives-{generation.id}",
        "kind: collectives",
        f"fitted_by: {COMMAND}",
        "applies_to:",
        f"  architectures: [{', '.join(generation.architectures)}]",
        f"  networks: [{', '.join(generation.networks)}]",
        "fitted_on:",
        "  table: validation/collectives_single_node.csv   # NVIDIA aiconfigurator-core 0.12.0, Apache-2.0",
        f"  systems: [{', '.join(generation.fitted_systems)}]",
        f"  gpus: [{', '.join(map(str, generation.fitted_gpus))}]",
        f"  rows: {len(fitted)}",
    ]
    if switch_rows:
        lines += [
            "  switch_limit_table: validation/collectives_public.csv   # rows of 1 GiB and more, nvls link_ratio only",
            f"  switch_limit_systems: [{', '.join(generation.switch_limit_systems)}]",
            f"  switch_limit_rows: {switch_rows}",
        ]
    lines += ["", "constants:"]
    for name, table in fit.constants.items():
        lines.append(f"  {name}: {{{', '.join(f'{key}: {value}' for key, value in table.items())}}}")
    lines += ["", "# Measured over predicted; low_ratio and high_ratio hold the middle 90 % of all rows.", "residuals:"]
    for kind, collectives in STRATA.items():
        mine = {
            name: [p for p in found if p.collective in collectives]
            for name, found in (("all", points), ("fitted", fitted), ("held_out", held_out))
        }
        bands = {name: _bands(fit.scores(found)) for name, found in mine.items()}
        for i, band in enumerate(bands["all"]):
            upper = "" if band["upper"] == math.inf else f"up_to: {band['label']}, "
            lines.append(f"  # {kind}, to {band['label']}")
            lines.append(
                f"  - {{collectives: [{', '.join(collectives)}], {upper}rows: {band['rows']}, "
                f"low_ratio: {band['low_ratio']}, high_ratio: {band['high_ratio']},"
            )
            parts = []
            for name in ("fitted", "held_out"):
                found = bands[name][i]
                if found["rows"]:
                    parts.append(
                        f"{name}: {{rows: {found['rows']}, median_error_ratio: {found['median_error_ratio']}, "
                        f"p90_error_ratio: {found['p90_error_ratio']}}}"
                    )
            lines.append("     " + ",\n     ".join(parts) + "}")
    lines += [
        "",
        "# Accelerator, collective and GPU counts that the residuals cover.",
        f"measured_systems: [{', '.join(sorted({p.system for p in points}))}]",
        f"measured_up_to: {max(p.size_bytes for p in points) >> 20} MiB",
        "measured:",
    ]
    covered: dict[str, dict[str, set[int]]] = {}
    for point in points:
        covered.setdefault(ACCELERATORS[point.system], {}).setdefault(point.collective, set()).add(point.gpus)
    for accelerator, by_collective in sorted(covered.items()):
        counts = ", ".join(f"{c}: [{', '.join(map(str, sorted(n)))}]" for c, n in sorted(by_collective.items()))
        lines.append(f"  {accelerator}: {{{counts}}}")
    return "\n".join(lines) + "\n"


def other_hosts_file(calibrations: Calibrations, public: Sequence[CollectivePoint]) -> str:
    """Return the residuals of public runs inside one domain: hosts, harnesses and NCCL builds of others."""
    ratios = []
    for generation in GENERATIONS:
        fit = Fit(generation, calibrations)
        fit.constants = yaml.safe_load(generation.file.read_text(encoding="utf-8"))["constants"]
        ratios += fit.scores([p for p in public if p.gpus <= 8 and HOSTS.get(p.system) == generation.id])
    lines = [
        f"# Written by `{COMMAND}`; do not edit. Measured over predicted of public runs of up to 8 GPUs",
        "# on hosts other than those of the constants: virtual machines, other harnesses, other NCCL builds.",
        "id: collectives-other-hosts",
        "kind: collectives-other-hosts",
        f"fitted_by: {COMMAND}",
        "table: validation/collectives_public.csv",
        "residuals:",
    ]
    for band in _bands(ratios):
        upper = "" if band["upper"] == math.inf else f"up_to: {band['label']}, "
        lines.append(
            f"  - {{{upper}rows: {band['rows']}, low_ratio: {band['low_ratio']}, high_ratio: {band['high_ratio']}}}"
        )
    return "\n".join(lines) + "\n"


def fitted_files(shipped: Calibrations) -> Iterator[tuple[Path, str]]:
    """Fit every generation; yield each file and what it should say."""
    points, public = newest_single_node(), public_single_domain()
    for generation in GENERATIONS:
        mine = [p for p in points if p.system in (*generation.fitted_systems, *generation.held_out_systems)]
        fitted = [p for p in mine if p.system in generation.fitted_systems and p.gpus in generation.fitted_gpus]
        held_out = [p for p in mine if p not in fitted]
        fit = Fit(generation, shipped)
        fit.fit(fitted)
        yield generation.file, _yaml(fit, fitted, held_out, fit.fit_switch(public))


def main() -> None:
    """Fit every generation and write its file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for path, text in fitted_files(load_calibrations(FOLDER)):
        path.write_text(text, encoding="utf-8")
        print(text)
    OTHER_HOSTS.write_text(other_hosts_file(load_calibrations(FOLDER), public_single_domain()), encoding="utf-8")


if __name__ == "__main__":
    main()
