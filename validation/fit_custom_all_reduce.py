"""Fit the constants of serving frameworks' all-reduce kernels, on the rows of the newest version of each.

Bounds: a kernel's bytes never move faster than the link. Fitted on 2 and 8 GPUs of one system a generation; other
counts and systems are held out, but for kernels that those rows hardly show. Host time and the eager copy are read
off the eager rows. Writes hardware_catalog/calibrations/custom-all-reduce.yaml.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.optimize import least_squares

from service.catalog.calibrations import Calibrations
from service.catalog.catalog import catalog_of
from service.catalog.custom_all_reduce import Bands, load_bands
from service.catalog.measurements import FrameworkPoint, newest_frameworks, newest_single_node
from service.catalog.shelves import read_shelves, shipped_folders
from service.core.collectives.cost import Algorithm
from service.core.collectives.custom_all_reduce import (
    NCCL,
    FrameworkKernels,
    KernelConstants,
    eager_cost,
    kernel_cost,
    kernel_for,
)
from service.core.hardware import System
from service.core.numerics import Dtype
from service.shipped import shipped_path

COMMAND = "python -m validation.fit_custom_all_reduce"
FOLDER = shipped_path("hardware_catalog") / "calibrations"
FILE = FOLDER / "custom-all-reduce.yaml"
FITTED_GPUS = (2, 8)
FEWEST_ROWS = (
    6  # a kernel with fewer rows in its fit is fitted on every row of it; with fewer at all, on less constants
)
BANDS = ((262144, "256 KiB"), (math.inf, ""))
COVERAGE_RATIO = 0.9
LARGE_COPY_BYTES = 256 << 20
GPU_BOUND_RATIO = 0.8  # an eager row whose GPU time is below this share of it is the host's


@dataclass(frozen=True, slots=True)
class Boards:
    """Boards that share constants: which they are, the system that is fitted on, and whose rates they share."""

    id: str
    architectures: tuple[str, ...]
    networks: tuple[str, ...]
    fitted_system: str
    systems: tuple[str, ...]
    accelerators: tuple[str, ...] = ()
    like: str | None = None


BOARDS = (
    Boards("ampere", ("ampere",), ("nvlink3", "nvlink3-a800"), "dgx-a100", ("dgx-a100",)),
    Boards("hopper", ("hopper",), ("nvlink4", "nvlink4-h800"), "dgx-h100", ("dgx-h100", "dgx-h200")),
    Boards("blackwell", ("blackwell", "blackwell-ultra"), ("nvlink5",), "dgx-b200", ("dgx-b200", "dgx-b300")),
    # The same GPUs and links, but barriers reach the host's memory too: on a Grace board they take other times.
    Boards(
        "grace-blackwell", ("blackwell", "blackwell-ultra"), ("nvlink5",), "gb200-nvl72", ("gb200-nvl72",),
        ("gb200", "gb300"), "blackwell",
    ),
)  # fmt: skip
UNIT = {"launch": ("us", 1e6), "peer": ("us", 1e6), "local": ("GB/s", 1e-9)}
# Where to start and the bounds. The upper end of `local` is no rate of a memory: it says that none was seen.
FREE = {
    "launch": (6e-6, 1e-6, 6e-5),
    "peer": (3e-7, 1e-9, 1e-5),
    "link_ratio": (0.7, 0.2, 1.0),
    "local": (1e12, 5e10, 5e13),
    "sharpness": (2.0, 1.0, 4.0),
}
NOT_SEEN = {"peer": 0.0, "local": 5e13, "sharpness": 1.0}


def algorithm_of(kernel: str) -> Algorithm:
    """Return what a kernel's name says it does: ``symmetric_two_shot`` is a two_shot."""
    return Algorithm(kernel.removeprefix("symmetric_"))


class Fit:
    """One framework on one generation of boards being fitted."""

    def __init__(
        self, boards: Boards, implementation: str, bands: Bands, systems: Mapping[str, System], like: Fit | None
    ) -> None:
        self.boards, self.implementation, self.systems, self.like = boards, implementation, systems, like
        self.copy = (0.0, 1.0)
        self.bands = bands[implementation]
        mine = [p for p in newest_frameworks() if p.system in boards.systems and p.implementation == implementation]
        self.graph = [p for p in mine if p.launch == "graph"]
        self.eager = [p for p in mine if p.launch == "eager"]
        self.kernels: dict[str, KernelConstants] = {}
        self.rounded: dict[str, dict[str, float]] = {}
        self.fitted: dict[str, tuple[list[str], list[int], int]] = {}
        self.host: dict[str, float] = {}

    def takes(self, point: FrameworkPoint) -> str:
        """Return the kernel that the framework takes for a row."""
        system = self.systems[point.system]
        framework = self._framework(system, _STUBS)
        adds = system.scale_up.in_switch_reduction
        return kernel_for(framework, Dtype(point.dtype), point.gpus, point.size_bytes, switch_adds=adds)

    def _framework(self, system: System, kernels: Mapping[str, KernelConstants]) -> FrameworkKernels:
        memory = system.accelerator.memory_bandwidth_bytes_per_second
        copy_launch, copy_ratio = self.copy
        bands = self.bands[system.accelerator.architecture]
        return FrameworkKernels(self.implementation, kernels, bands, self.host, copy_launch, copy_ratio * memory / 2)

    def fit(self) -> None:
        """Fit every kernel that the rows show."""
        by_kernel: dict[str, list[FrameworkPoint]] = {}
        for point in self.graph:
            by_kernel.setdefault(self.takes(point), []).append(point)
        by_kernel.pop(NCCL, None)
        for kernel, rows in sorted(by_kernel.items()):
            chosen = [p for p in rows if p.system == self.boards.fitted_system and p.gpus in FITTED_GPUS]
            if len(chosen) < FEWEST_ROWS:
                chosen = rows
            self._fit_kernel(kernel, chosen)
            self.fitted[kernel] = (sorted({p.system for p in chosen}), sorted({p.gpus for p in chosen}), len(chosen))
        if self.like:
            for kernel in set(self.like.kernels) - set(self.kernels):
                self.kernels[kernel], self.rounded[kernel] = self.like.kernels[kernel], self.like.rounded[kernel]
                self.fitted[kernel] = self.like.fitted[kernel]

    def _fit_kernel(self, kernel: str, rows: Sequence[FrameworkPoint]) -> None:
        algorithm, several = algorithm_of(kernel), len({p.gpus for p in rows}) > 1
        names = ["launch", "link_ratio", "local", "sharpness", *(["peer"] if several else [])]
        fixed = dict(NOT_SEEN)
        if self.like and kernel in self.like.rounded:
            fixed["peer"] = self.like.rounded[kernel]["peer"]
        if algorithm is Algorithm.ONE_SHOT:
            names.remove("sharpness")
        if len(rows) < FEWEST_ROWS and self.like:
            names, fixed = ["launch"], self.like.rounded[kernel]
        elif len(rows) < FEWEST_ROWS:
            names = ["launch", "link_ratio"]

        def constants(logs: np.ndarray) -> dict[str, float]:
            return fixed | dict(zip(names, map(math.exp, logs), strict=True))

        def log_ratios(logs: np.ndarray) -> list[float]:
            made = self._constants(algorithm, constants(logs))
            return [math.log(self._on_gpu(made, p) / p.seconds) for p in rows]

        start, low, high = ([math.log(FREE[name][i]) for name in names] for i in range(3))
        found = least_squares(log_ratios, start, bounds=(low, high), loss="soft_l1", f_scale=0.1, max_nfev=200)
        self.rounded[kernel] = {key: _rounded(value) for key, value in constants(found.x).items()}
        self.kernels[kernel] = self._constants(algorithm, self.rounded[kernel])

    @staticmethod
    def _constants(algorithm: Algorithm, values: Mapping[str, float]) -> KernelConstants:
        return KernelConstants(
            algorithm, values["launch"], values["peer"], values["link_ratio"], values["local"], values["sharpness"]
        )

    def _on_gpu(self, kernel: KernelConstants, point: FrameworkPoint) -> float:
        link = self.systems[point.system].scale_up.bandwidth_bytes_per_second
        return kernel_cost(kernel, point.gpus, point.size_bytes, link).seconds

    def differences(self) -> Iterator[tuple[FrameworkPoint, float]]:
        """Yield each eager row and the graph row's time of the same point."""
        graph = {(p.system, p.gpus, p.size_bytes): p.seconds for p in self.graph}
        for point in self.eager:
            if (point.system, point.gpus, point.size_bytes) in graph:
                yield point, graph[point.system, point.gpus, point.size_bytes]

    def fit_host(self, stand_in: Mapping[str, float]) -> None:
        """Set the host's time for each kernel: the median of eager rows that the GPU would be done with earlier."""
        taken: dict[str, list[float]] = {}
        for point in self.eager:
            kernel = self.takes(point)
            if kernel == NCCL or point.system != self.boards.fitted_system:
                continue
            if self._on_gpu(self.kernels[kernel], point) < GPU_BOUND_RATIO * point.seconds - self.copy[0]:
                taken.setdefault(kernel, []).append(point.seconds)
        found = {kernel: statistics.median(times) for kernel, times in taken.items()}
        usual = found.get("one_shot", stand_in.get("one_shot", 0.0))
        for kernel in (*self.kernels, NCCL):
            self.host[kernel] = _rounded(found.get(kernel, usual))

    def scores(self, launch: str) -> list[tuple[FrameworkPoint, float]]:
        """Return measured over predicted for each row of a launch that the framework's own kernels take."""
        found = []
        for point in self.graph if launch == "graph" else self.eager:
            kernel = self.takes(point)
            if kernel == NCCL:
                continue
            system = self.systems[point.system]
            link = system.scale_up.bandwidth_bytes_per_second
            cost = kernel_cost(self.kernels[kernel], point.gpus, point.size_bytes, link)
            if launch == "eager":
                cost = eager_cost(self._framework(system, self.kernels), kernel, point.size_bytes, cost)
            found.append((point, point.seconds / cost.seconds))
        return found

    def was_fitted(self, point: FrameworkPoint) -> bool:
        """Return whether a row is one of its kernel's fit."""
        systems, gpus, _ = self.fitted[self.takes(point)]
        return point.system in systems and point.gpus in gpus

    def lines(self) -> Iterator[str]:
        """Yield the framework's part of the file."""
        yield f"      {self.implementation}:"
        yield f"        version: {self.graph[0].version}"
        host = ", ".join(f"{kernel}: {_written('launch', seconds)}" for kernel, seconds in self.host.items())
        yield f"        host: {{{host}}}"
        yield f"        eager_measured: {str(bool(self.eager)).lower()}"
        yield "        kernels:"
        for kernel, values in self.rounded.items():
            constants = ", ".join(f"{key}: {_written(key, values[key])}" for key in FREE)
            yield f"          {kernel}: {{algorithm: {algorithm_of(kernel)}, {constants}}}"
        yield "        fitted_on:"
        for kernel, (systems, gpus, rows) in self.fitted.items():
            yield (
                f"          {kernel}: {{systems: [{', '.join(systems)}], gpus: [{', '.join(map(str, gpus))}], "
                f"rows: {rows}}}"
            )
        yield "        residuals:"
        for launch in ("graph", "eager"):
            yield from self._residuals(launch)
        covered: dict[str, set[int]] = {}
        for point in self.graph:
            covered.setdefault(self.systems[point.system].accelerator.id, set()).add(point.gpus)
        counts = ", ".join(f"{a}: [{', '.join(map(str, sorted(n)))}]" for a, n in sorted(covered.items()))
        yield f"        measured: {{{counts}}}"
        yield f"        measured_systems: [{', '.join(sorted({p.system for p in self.graph}))}]"

    def _residuals(self, launch: str) -> Iterator[str]:
        scores, previous = self.scores(launch), 0.0
        for upper, label in BANDS:
            mine = [(p, ratio) for p, ratio in scores if previous < p.size_bytes <= upper]
            previous = upper
            if not mine:
                continue
            ratios = [ratio for _, ratio in mine]
            tail = (1 - COVERAGE_RATIO) / 2
            parts = [
                f"launch: {launch}", *([f"up_to: {label}"] if label else []), f"rows: {len(mine)}",
                f"low_ratio: {_quantile(ratios, tail)}", f"high_ratio: {_quantile(ratios, 1 - tail)}",
            ]  # fmt: skip
            for name, wanted in (("fitted", True), ("held_out", False)):
                errors = [abs(1 / ratio - 1) for p, ratio in mine if self.was_fitted(p) is wanted]
                if errors:
                    parts.append(
                        f"\n             {name}: {{rows: {len(errors)}, median_error_ratio: {_quantile(errors, 0.5)}, "
                        f"p90_error_ratio: {_quantile(errors, 0.9)}}}"
                    )
            yield f"          - {{{', '.join(parts)}}}".replace(", \n", ",\n")


_STUBS = {
    name: KernelConstants(algorithm_of(name), 0.0, 0.0, 1.0, 1.0, 1.0)
    for name in ("one_shot", "two_shot", "symmetric_two_shot", "symmetric_multimem")
}


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _written(key: str, value: float) -> str:
    unit, scale = UNIT.get(key, ("", 1.0))
    return f"{float(f'{value * scale:.3g}'):g} {unit}".strip()


def _quantile(values: Sequence[float], share: float) -> float:
    return float(f"{np.quantile(values, share):.3f}")


def copy_constants(fits: Sequence[Fit]) -> tuple[float, float]:
    """Return the launch and the share of the memory's rate of the copy that an eager all-reduce makes."""
    found = [(fit.systems[p.system], p, p.seconds - graph) for fit in fits for p, graph in fit.differences()]
    ratios = [
        2 * p.size_bytes / (system.accelerator.memory_bandwidth_bytes_per_second * difference)
        for system, p, difference in found
        if p.size_bytes >= LARGE_COPY_BYTES and difference > 0
    ]
    ratio = min(1.0, statistics.median(ratios))
    left = [
        difference - 2 * p.size_bytes / (ratio * system.accelerator.memory_bandwidth_bytes_per_second)
        for system, p, difference in found
        if LARGE_COPY_BYTES // 16 <= p.size_bytes < LARGE_COPY_BYTES
    ]
    return _rounded(max(1e-6, statistics.median(left))), _rounded(ratio)


def nccl_in_graph(fits: Sequence[Fit]) -> dict[str, Any]:
    """Return the time of NCCL's all-reduce in a graph, as frameworks hand it over, over nccl-tests' of the same."""
    tests = {
        (p.system, p.gpus, p.size_bytes): p.seconds
        for p in newest_single_node()
        if p.collective == "all_reduce" and p.dtype == "fp16"
    }
    handed = [p for fit in fits for p in fit.graph if fit.takes(p) == NCCL]
    handed = [p for p in handed if (p.system, p.gpus, p.size_bytes) in tests]
    ratios = [p.seconds / tests[p.system, p.gpus, p.size_bytes] for p in handed]
    tail = (1 - COVERAGE_RATIO) / 2
    return {
        "from": f"{min(p.size_bytes for p in handed) >> 20} MiB",
        "rows": len(handed),
        "median_ratio": _quantile(ratios, 0.5),
        "low_ratio": _quantile(ratios, tail),
        "high_ratio": _quantile(ratios, 1 - tail),
    }


def fitted_file() -> str:
    """Fit everything; return what the file should say."""
    folders = shipped_folders()
    catalog = catalog_of(folders, read_shelves(folders)[0], cast(Calibrations, None))
    bands = load_bands(FOLDER)
    lines = [
        f"# Written by `{COMMAND}`; do not edit.",
        "id: custom-all-reduce",
        "kind: custom-all-reduce",
        f"fitted_by: {COMMAND}",
        "table: validation/collectives_frameworks.csv   # NVIDIA aiconfigurator-core 0.12.0, Apache-2.0",
        "",
        "# Residuals are measured over predicted, of rows that the frameworks' own kernels take; low_ratio to",
        "# high_ratio hold the middle 90 %. Where no eager row was found, the host's time is vLLM's. A kernel that",
        "# no row shows has the constants of the other boards of its generation.",
        "boards:",
    ]
    everything: dict[tuple[str | None, str], Fit] = {}
    for boards in BOARDS:
        systems = {name: catalog.system(name) for name in boards.systems}
        fits = [
            Fit(boards, name, bands, systems, everything.get((boards.like, name)))
            for name in ("vllm", "sglang", "trtllm")
        ]
        for fit in fits:
            fit.fit()
        copy = copy_constants(fits)
        for fit in fits:
            fit.copy = copy
            fit.fit_host(fits[0].host)
        everything |= {(boards.id, fit.implementation): fit for fit in fits}
        lines += [
            f"  - id: {boards.id}",
            f"    architectures: [{', '.join(boards.architectures)}]",
            f"    networks: [{', '.join(boards.networks)}]",
            *([f"    accelerators: [{', '.join(boards.accelerators)}]"] if boards.accelerators else []),
            f"    copy: {{launch: {_written('launch', copy[0])}, memory_ratio: {copy[1]}}}",
            "    implementations:",
            *(line for fit in fits for line in fit.lines()),
        ]
    graph = nccl_in_graph(list(everything.values()))
    lines += [
        "",
        "# What frameworks hand to NCCL under a graph, over nccl-tests' time of the same system, GPUs and size.",
        f"nccl_in_graph: {{{', '.join(f'{key}: {value}' for key, value in graph.items())}}}",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit everything and write the file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = fitted_file()
    FILE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
