"""Fits the collective constants with a stratum left out, scores that stratum, and writes docs/cross-validation.md.

    python -m validation.cross_validate

Inside a domain: one GPU count at a time on every system, and one system at a time where its generation has another.
Between domains: one cluster at a time where its fabric has another. Every fit is the one that ships
(validation/fit_collectives.py, validation/fit_fabrics.py), on fewer rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from service.catalog.calibrations import Calibrations, load_calibrations
from service.catalog.catalog import load_shipped_catalog
from service.catalog.fabric_calibrations import FabricCalibration, FabricCalibrations
from service.catalog.measurements import CollectivePoint, networked, newest_single_node, public_single_domain
from validation import fit_collectives, fit_fabrics
from validation.fit_collectives import GENERATIONS, Fit, Generation

PAGE = Path(__file__).parents[1] / "docs" / "cross-validation.md"
COMMAND = "python -m validation.cross_validate"
SMALLEST_LARGE_BYTES = 1 << 20

_HEADING = f"""# Cross-validation of the collective model

Written by `{COMMAND}`; a test writes it again and compares. Each row: the constants were
fitted without that stratum, then scored on it alone. Error is predicted over measured, less one; *bias* its median with
its sign."""

_INSIDE = """## Inside one NVLink domain, {left_out}

nccl-tests rows of `validation/collectives_single_node.csv`.

| left out | fitted on | rows | median error | 90 % within | bias | from 1 MiB: median, 90 % | below: median, 90 % |
|---|---|---:|---:|---:|---:|---:|---:|"""

_BETWEEN = """## Between domains, one cluster at a time

Rows of `validation/collectives_networked.csv`, on the fabrics that more than one cluster has.

| left out | fabric | fitted on | rows | median error | 90 % within | bias |
|---|---|---:|---:|---:|---:|---:|"""

_CARRIED = """## Constants carried to the next system of a generation

What the shipped constants, fitted on the first system with 2 and 8 GPUs, give on the next, which no constant was fitted
on: the bias beside the first system's own. *Carried*: the second less the first.

| from | to | rows | bias on the first | bias on the next | carried | median error on the next |
|---|---|---:|---:|---:|---:|---:|"""

CARRIED = (
    ("dgx-h100", "dgx-h200"),
    ("dgx-b200", "gb200-nvl72"),
    ("dgx-b200", "dgx-b300"),
)


@dataclass(frozen=True, slots=True)
class Fold:
    """One stratum left out of the fit, and its errors: predicted over measured, less one, by size."""

    name: str
    fitted_on: str
    sizes: tuple[int, ...]
    errors: tuple[float, ...]

    def row(self) -> str:
        """Return the row of the table."""
        large = [e for s, e in zip(self.sizes, self.errors, strict=True) if s >= SMALLEST_LARGE_BYTES]
        small = [e for s, e in zip(self.sizes, self.errors, strict=True) if s < SMALLEST_LARGE_BYTES]
        return (
            f"| {self.name} | {self.fitted_on} | {len(self.errors)} | {_median(self.errors):.1%} "
            f"| {_p90(self.errors):.1%} | {np.median(self.errors):+.1%} "
            f"| {_median(large):.1%}, {_p90(large):.1%} | {_median(small):.1%}, {_p90(small):.1%} |"
        )


def folds_by_count(shipped: Calibrations) -> Iterator[Fold]:
    """Leave out one GPU count at a time of each generation's systems together."""
    for generation, points in _generations():
        for count in sorted({p.gpus for p in points}):
            rest = [p for p in points if p.gpus != count]
            left = [p for p in points if p.gpus == count]
            counts = ", ".join(str(n) for n in sorted({p.gpus for p in rest}))
            yield _fold(generation, f"{generation.id}, {count} GPUs", f"{counts} GPUs", rest, left, shipped)


def folds_by_system(shipped: Calibrations) -> Iterator[Fold]:
    """Leave out one system at a time, where the generation has another."""
    for generation, points in _generations():
        systems = sorted({p.system for p in points})
        for system in systems if len(systems) > 1 else ():
            rest = [p for p in points if p.system != system]
            left = [p for p in points if p.system == system]
            yield _fold(generation, system, ", ".join(s for s in systems if s != system), rest, left, shipped)


def between_domains() -> Iterator[str]:
    """Leave out one cluster at a time of each fabric that has another; yield the rows, and one of all together."""
    catalog = load_shipped_catalog()
    everything: list[float] = []
    for fabric, networks in fit_fabrics.FABRICS.items():
        points = [p for p in networked() if p.network in networks]
        clusters = sorted({p.table for p in points})
        for cluster in clusters if len(clusters) > 1 else ():
            rest = [p for p in points if p.table != cluster]
            hop, efficiency = fit_fabrics.fit(rest, catalog)
            one = FabricCalibration(fabric, frozenset(networks), efficiency, hop, frozenset())
            tried = fit_fabrics.with_fabrics(catalog, FabricCalibrations((one,), 1.0, 1.0, 0))
            left = [p for p in points if p.table == cluster]
            errors = [fit_fabrics.predicted(p, tried) / p.seconds - 1 for p in left]
            everything += errors
            yield _network_row(cluster, fabric, f"{len(rest)} rows", errors)
    yield _network_row("**all**", "", "", everything)


def carried(shipped: Calibrations) -> Iterator[str]:
    """Yield, for each pair of systems, what the shipped constants give on both."""
    points = newest_single_node()
    for first, following in CARRIED:
        generation = next(g for g in GENERATIONS if first in g.fitted_systems)
        own, theirs = (
            [1 / ratio - 1 for _, ratio in _shipped_fit(generation, shipped).scores(found)]
            for found in ([p for p in points if p.system == s] for s in (first, following))
        )
        step = (1 + np.median(theirs)) / (1 + np.median(own)) - 1
        yield (
            f"| {first} | {following} | {len(theirs)} | {np.median(own):+.1%} | {np.median(theirs):+.1%} | {step:+.1%} "
            f"| {_median(theirs):.1%} |"
        )


def page() -> str:
    """Return docs/cross-validation.md."""
    shipped = load_calibrations(fit_collectives.FOLDER)
    sections = [_HEADING]
    for words, folds in (
        ("one GPU count at a time", list(folds_by_count(shipped))),
        ("one system at a time", list(folds_by_system(shipped))),
    ):
        together = Fold(
            "**all**", "", tuple(s for f in folds for s in f.sizes), tuple(e for f in folds for e in f.errors)
        )
        sections.append("\n".join([_INSIDE.format(left_out=words), *(f.row() for f in (*folds, together))]))
    sections.append("\n".join([_CARRIED, *carried(shipped)]))
    sections.append("\n".join([_BETWEEN, *between_domains()]))
    return "\n\n".join(sections) + "\n"


def _generations() -> Iterator[tuple[Generation, list[CollectivePoint]]]:
    points = newest_single_node()
    for generation in GENERATIONS:
        yield generation, [p for p in points if p.system in (*generation.fitted_systems, *generation.held_out_systems)]


def _fold(
    generation: Generation,
    name: str,
    fitted_on: str,
    rest: Sequence[CollectivePoint],
    left: Sequence[CollectivePoint],
    shipped: Calibrations,
) -> Fold:
    fit = Fit(generation, shipped)
    fit.fit(rest)
    fit.fit_switch(public_single_domain())
    scores = fit.scores(left)
    return Fold(name, fitted_on, tuple(p.size_bytes for p, _ in scores), tuple(1 / ratio - 1 for _, ratio in scores))


def _shipped_fit(generation: Generation, shipped: Calibrations) -> Fit:
    fit = Fit(generation, shipped)
    document = yaml.safe_load(generation.file.read_text(encoding="utf-8"))
    fit.constants = document["constants"]
    return fit


def _network_row(cluster: str, fabric: str, fitted_on: str, errors: Sequence[float]) -> str:
    return (
        f"| {cluster} | {fabric} | {fitted_on} | {len(errors)} | {_median(errors):.1%} | {_p90(errors):.1%} "
        f"| {np.median(errors):+.1%} |"
    )


def _median(errors: Sequence[float]) -> float:
    return float(np.median(np.abs(errors)))


def _p90(errors: Sequence[float]) -> float:
    return float(np.quantile(np.abs(errors), 0.9))


def main() -> None:
    """Cross-validate and write the page."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = page()
    PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
