"""Fits the serving engines' constants and writes hardware_catalog/calibrations/inference-engines.yaml.

    python -m validation.fit_inference

A few constants an engine, fitted on the rows of validation/inference.csv whose role is `fit`: never on those to
validate, nor on rows like them. Takes about two minutes. Limits (memory, sequences, tokens of a step) are the engines'
documented defaults; kernels and collectives have their own fits. Needs the dev requirements.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from scipy.optimize import least_squares

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.catalog.engine_calibrations import EngineCalibrations
from service.catalog.serving_measurements import ServingPoint, serving_points
from service.core.inference.engine import EngineConstants
from service.planning.inference_accuracy import ScoredServing, is_scored, scored_servings

OUT = Path(__file__).parents[1] / "hardware_catalog" / "calibrations" / "inference-engines.yaml"
COMMAND = "python -m validation.fit_inference"
PRIOR_WEIGHT = 0.3
FEWEST_ROWS = 20
SPREAD = 0.05, 0.95
OUTLIER = 3.0  # a prediction off by more than this tells of another cause than these constants

# Start, low, high of what is fitted; seconds, and ratios over the kernels' own times.
FREE = {
    "layer_seconds": (8e-6, 1e-6, 6e-5),
    "host_seconds": (4e-4, 1e-5, 1e-2),
    "sequence_seconds": (4e-6, 1e-7, 1e-4),
    "request_seconds": (1e-2, 1e-3, 1e-1),
    "matrix_ratio": (1.0, 0.8, 1.4),
    "attention_ratio": (1.0, 0.8, 1.6),
    "expert_ratio": (1.2, 0.8, 3.0),
}
MANY_ROWS = ("trtllm", "vllm")
# Documented defaults: share of memory, context and graphs, whether output is reserved, sequences, tokens of a step.
LIMITS = {
    "trtllm": {"memory_ratio": 0.95, "runtime_bytes": 4e9, "reserved_output_ratio": 1.0, "most_sequences": 4096,
               "step_tokens": 32768},
    "vllm": {"memory_ratio": 0.9, "runtime_bytes": 3e9, "reserved_output_ratio": 0.5, "most_sequences": 1024,
             "step_tokens": 8192},
    "sglang": {"memory_ratio": 0.88, "runtime_bytes": 3e9, "reserved_output_ratio": 0.5, "most_sequences": 1024,
               "step_tokens": 8192},
    "generic": {"memory_ratio": 0.9, "runtime_bytes": 3e9, "reserved_output_ratio": 0.5, "most_sequences": 1024,
                "step_tokens": 8192},
}  # fmt: skip


def with_engine(catalog: Catalog, name: str, constants: EngineConstants) -> Catalog:
    """Return a catalogue whose engine has these constants; paths between GPUs stay cached."""
    calibrations = catalog.calibrations
    engines = EngineCalibrations(
        MappingProxyType({**calibrations.engines.engines, name: constants}), calibrations.engines.residuals
    )
    return dataclasses.replace(catalog, calibrations=dataclasses.replace(calibrations, engines=engines))


def constants_of(name: str, logs: Sequence[float]) -> EngineConstants:
    """Return an engine's constants from the logarithms of what is fitted."""
    fitted = {key: float(f"{math.exp(x):.3g}") for key, x in zip(FREE, logs, strict=True)}
    return EngineConstants(**fitted, **LIMITS[name])  # type: ignore[arg-type]


def fit(name: str, points: Sequence[ServingPoint], catalog: Catalog) -> EngineConstants:
    """Return the constants that meet an engine's rows best."""
    starts = np.log([start for start, _, _ in FREE.values()])

    def log_ratios(logs: np.ndarray) -> np.ndarray:
        tried = with_engine(catalog, name, constants_exact(name, logs))
        found = [math.log(max(s.predicted, 1e-9) / s.measured) for s in scored_servings(tried, points)]
        clipped = np.clip(found, -math.log(OUTLIER), math.log(OUTLIER))
        return np.concatenate([clipped, PRIOR_WEIGHT * (logs - starts)])

    found = least_squares(
        log_ratios, starts, loss="soft_l1", f_scale=0.1, max_nfev=12, diff_step=1e-3,
        bounds=(np.log([low for _, low, _ in FREE.values()]), np.log([high for _, _, high in FREE.values()])),
    )  # fmt: skip
    return constants_of(name, found.x)


def constants_exact(name: str, logs: Sequence[float]) -> EngineConstants:
    """Return the same, not rounded: what the fit's steps need."""
    return EngineConstants(**dict(zip(FREE, np.exp(logs), strict=True)), **LIMITS[name])  # type: ignore[arg-type]


def fitted_file() -> str:
    """Return what inference-engines.yaml should say."""
    catalog = load_shipped_catalog()
    points = [p for p in serving_points() if is_scored(p)]
    engines: dict[str, EngineConstants] = {}
    for name in ("trtllm", "vllm", "sglang"):
        mine = [p for p in points if p.engine == name and p.role == "fit"]
        engines[name] = fit(name, mine, catalog)
        catalog = with_engine(catalog, name, engines[name])
    mean = {key: math.exp(np.mean([math.log(getattr(engines[name], key)) for name in MANY_ROWS])) for key in FREE}
    engines["generic"] = constants_of("generic", [math.log(x) for x in mean.values()])
    lines = [
        f"# Written by `{COMMAND}`; do not edit. Rows: validation/inference.csv, role fit, each with its URL.",
        "# Times and ratios are fitted; memory, sequences and tokens of a step are the engines' documented defaults.",
        "# generic: the geometric mean of trtllm and vllm, whose rows are many. residuals: measured over predicted",
        "# output tokens/s (or the inverse of TPOT) of all scored rows, the middle 90 %; the first stratum that an",
        "# estimate is of is taken.",
        "id: inference-engines",
        "kind: inference-engines",
        f"fitted_by: {COMMAND}",
        "engines:",
        *(f"  {name}: {{{_written(constants)}}}" for name, constants in engines.items()),
        "residuals:",
        *residual_lines(scored_figures(catalog)),
    ]
    return "\n".join(lines) + "\n"


def _written(constants: EngineConstants) -> str:
    c = constants
    return (
        f"layer: {c.layer_seconds * 1e6:.3g} us, host: {c.host_seconds * 1e6:.3g} us, "
        f"sequence: {c.sequence_seconds * 1e6:.3g} us, request: {c.request_seconds * 1e3:.3g} ms, "
        f"matrix_ratio: {c.matrix_ratio:.3g}, attention_ratio: {c.attention_ratio:.3g}, "
        f"expert_ratio: {c.expert_ratio:.3g}, memory_ratio: {c.memory_ratio:g}, "
        f"runtime: {c.runtime_bytes * 1e-9:g} GB, reserved_output_ratio: {c.reserved_output_ratio:g}, "
        f"most_sequences: {c.most_sequences}, step_tokens: {c.step_tokens}"
    )


_KINDS = {"max_throughput": "throughput", "concurrency_point": "concurrency", "min_latency": "latency"}


def scored_figures(catalog: Catalog) -> list[ScoredServing]:
    """Return the rows that the range is of: throughput, and TPOT as its inverse."""
    return [s for s in scored_servings(catalog) if s.figure != "ttft_seconds" and s.predicted > 0]


def residual_lines(scored: Sequence[ScoredServing]) -> list[str]:
    """Return the file's residuals, the narrowest strata first."""
    strata: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for s in scored:
        ratio = s.measured / s.predicted if s.figure == "output_tokens_per_second" else s.predicted / s.measured
        engine, kind = s.point.engine, _KINDS[s.point.kind]
        experts = "mixture of experts" if s.point.model in MIXTURES else "dense"
        strata[engine, kind, experts].append(ratio)
        strata["", kind, experts].append(ratio)
        strata["", "", experts].append(ratio)
        strata["", "", ""].append(ratio)
    lines = []
    for (engine, kind, experts), ratios in sorted(strata.items(), key=lambda each: [not part for part in each[0]]):
        if len(ratios) < FEWEST_ROWS:
            continue
        low, high = np.quantile(ratios, SPREAD)
        name = ", ".join(part for part in (experts, engine, kind) if part) or "all rows"
        of = "".join(
            f", {key}: [{value}]"
            for key, value in (("engines", engine), ("kinds", kind), ("families", experts))
            if value
        )
        lines.append(f'  - {{name: "{name}", low_ratio: {low:.3f}, high_ratio: {high:.3f}, rows: {len(ratios)}{of}}}')
    return lines


MIXTURES = frozenset(
    {"gpt-oss-120b", "gpt-oss-20b", "deepseek-r1", "mixtral-8x7b", "mixtral-8x22b", "qwen3-235b-a22b",
     "llama4-maverick", "llama4-scout", "qwen3-30b-a3b"}
)  # fmt: skip


def main() -> None:
    """Fit every engine and write the file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = fitted_file()
    OUT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
