"""Fit one set of training constants to each GPU generation and class of framework; write calibrations/training.yaml.

Rows: validation/training.csv, role calibrate only. The error is the logarithm of predicted over measured step time,
nearly absolute past 2.5 %, so that a row that something else slowed does not pull the others. Sources weigh alike,
however many rows they have; BLOOM's trials (single iterations of software in the making) and MegaScale's rows (no
micro-batch stated) weigh a quarter and half. Weak priors keep what the rows do not decide at what it was before.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.catalog.training_calibrations import load_training_calibrations
from service.catalog.training_measurements import training_points
from service.core.training.block import TrainingConstants
from service.planning.training_accuracy import AskedPoint, asked_points
from service.shipped import shipped_path

# Prior and its spread (of the logarithm), least and most.
PRIORS = {
    "half_ratio": (0.9, 0.15, 0.5, 1.3),
    "eight_bit_ratio": (1.0, 0.15, 0.5, 1.6),
    "four_bit_ratio": (1.0, 0.3, 0.5, 4.0),
    "element_wise_ratio": (1.2, 0.15, 0.9, 1.6),
    "layer_host_seconds": (300e-6, 1.0, 1e-5, 1e-2),
    "expert_host_seconds": (20e-6, 1.0, 1e-7, 1e-2),
    "expert_traffic_ratio": (1.5, 0.5, 1.0, 10.0),
    "misaligned_scores_ratio": (5.0, 0.5, 1.0, 100.0),
    "overlap_slowdown_ratio": (0.15, 0.7, 0.02, 0.5),
    "step_seconds": (15e-3, 0.1, 1e-3, 1.0),
}
SOURCE_WEIGHT = {"BLOOMPRE": 0.25, "MEGASCALE": 0.5}
NOISE = 0.025
LEAST_ROWS = 20
TAILS = (0.05, 0.95)
HOST_STARTS_AT = 3  # times the prior: where no layer waits for the host, nothing pulls it down


def fit(points: list[AskedPoint], catalog: Catalog) -> TrainingConstants:
    """Return the constants of one generation and class."""
    rows = [p for p in points if p.point.role == "calibrate"]
    counts = Counter(p.point.source for p in rows)
    weights = np.array([SOURCE_WEIGHT.get(p.point.source, 1) / math.sqrt(counts[p.point.source]) for p in rows])
    weights *= math.sqrt(len(rows) / float((weights**2).sum()))
    centres = [math.log(prior[0]) for prior in PRIORS.values()]

    def residuals(x: np.ndarray) -> np.ndarray:
        constants = TrainingConstants(*(float(v) for v in np.exp(x)))
        errors = [math.log(p.predicted_seconds(catalog, constants) / p.measured_seconds) / NOISE for p in rows]
        scaled = weights * np.array(errors)
        robust = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
        priors = [(v - c) / (2 * prior[1]) for v, c, prior in zip(x, centres, PRIORS.values(), strict=True)]
        return np.concatenate([robust, priors])

    start = np.array(centres)
    start[list(PRIORS).index("layer_host_seconds")] += math.log(HOST_STARTS_AT)
    bounds = ([math.log(p[2]) for p in PRIORS.values()], [math.log(p[3]) for p in PRIORS.values()])
    found = least_squares(residuals, start, diff_step=0.02, max_nfev=25, bounds=bounds)
    return TrainingConstants(*(float(v) for v in np.exp(found.x)))


def write(path: Path, sets: dict[tuple[str, str], TrainingConstants]) -> None:
    """Put the constants into the file, each on its set's line; what is by hand stays."""
    text = path.read_text(encoding="utf-8")
    for (generation, framework), c in sets.items():
        constants = (
            f"{{half_ratio: {c.half_ratio:.3g}, eight_bit_ratio: {c.eight_bit_ratio:.3g},"
            f" four_bit_ratio: {c.four_bit_ratio:.3g}, element_wise_ratio: {c.element_wise_ratio:.3g},"
            f" layer_host: {c.layer_host_seconds * 1e6:.3g} us, expert_host: {c.expert_host_seconds * 1e6:.3g} us,"
            f" expert_traffic_ratio: {c.expert_traffic_ratio:.3g},"
            f" misaligned_scores_ratio: {c.misaligned_scores_ratio:.3g},"
            f" overlap_slowdown_ratio: {c.overlap_slowdown_ratio:.3g}, step: {c.step_seconds * 1e3:.3g} ms}}"
        )
        line = rf"(\{{generation: {generation}, framework: {framework}, constants: )\{{[^}}]*\}}"
        text, found = re.subn(line, lambda match, new=constants: match[1] + new, text)
        if found != 1:
            raise SystemExit(f"{path.name} has no line of {generation}, {framework}")
    path.write_text(text, encoding="utf-8")


def residual_lines(points: list[AskedPoint], catalog: Catalog) -> list[str]:
    """Return the strata of measured over predicted, narrower ones first, as lines of the file."""
    strata: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for p in points:
        if p.point.source == "VTRAIN1":
            continue  # small models on one node, all host: they would drown the others
        generation, framework = p.calibration_key(catalog)
        family = "dense" if p.scene.model.architecture.moe is None else "mixture of experts"
        ratio = p.measured_seconds / p.predicted_seconds(catalog)
        for key in ((generation, framework, family), (family,), ()):
            strata[key].append(ratio)
    lines = []
    for key, ratios in sorted(strata.items(), key=lambda item: (-len(item[0]), item[0])):
        if len(key) == len(("generation", "framework", "family")) and len(ratios) < LEAST_ROWS:
            continue
        low, high = (float(q) for q in np.quantile(ratios, TAILS, method="inverted_cdf"))
        names = {3: ("generations", "frameworks", "families"), 1: ("families",), 0: ()}[len(key)]
        of = "".join(f", {name}: [{value}]" for name, value in zip(names, key, strict=True))
        title = ", ".join(key) or "all rows"
        ends = f"low_ratio: {min(low, 1):.3f}, high_ratio: {max(high, 1):.3f}"
        lines.append(f'  - {{name: "{title}", rows: {len(ratios)}, {ends}{of}}}')
    return lines


def main() -> None:
    """Fit and write."""
    catalog = load_shipped_catalog()
    by_set: dict[tuple[str, str], list[AskedPoint]] = defaultdict(list)
    for asked in asked_points(training_points(), catalog):
        by_set[asked.calibration_key(catalog)].append(asked)
    sets = {}
    for key, points in sorted(by_set.items()):
        if any(p.point.role == "calibrate" for p in points):
            sets[key] = fit(points, catalog)
            print(*key, sets[key])
    path = shipped_path("hardware_catalog") / "calibrations" / "training.yaml"
    write(path, sets)
    load_training_calibrations.cache_clear()
    fitted = load_shipped_catalog()
    lines = residual_lines(list(asked_points(training_points(), fitted)), fitted)
    head, _, _ = path.read_text(encoding="utf-8").partition("residuals:\n")
    path.write_text(head + "residuals:\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
