"""The page of `stepcast accuracy inference`."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from service.catalog.catalog import load_shipped_catalog
from service.planning.inference_accuracy import ScoredServing, scored_servings

_HEADING = """# How far off serving estimates are

Written by `stepcast accuracy inference --markdown docs/accuracy-inference.md`; a test writes it again and compares.
Published figures of TensorRT-LLM, vLLM and SGLang (`validation/inference.csv`, each with its URL): output tokens/s at
the most a server gives, TPOT and TTFT at a number of clients, TTFT of one request. Error is predicted over measured,
less one; *bias* its median with its sign. Rows to *validate*, and their *twins* (the same architecture, accelerator, TP
and lengths), were never fitted on. *Roofline*: the median error of datasheet bandwidth and peaks at the same batch. A
TTFT at many clients is that of a closed-loop benchmark whose clients start together; that of a saturated queue is not
scored."""
_TAIL = """Mixtures of experts are the known weakness: routing is taken as even, grouped multiplications have no public
kernel table, and MXFP4 is unpacked on Hopper by kernels that were not measured. Their range is wider."""
_KEYS: tuple[tuple[str, Callable[[ScoredServing], str]], ...] = (
    ("figure, role", lambda s: f"{s.figure}, {s.point.role}"),
    ("figure, engine, model", lambda s: f"{s.figure}, {s.point.engine}, {s.point.model}"),
    ("figure, system, format", lambda s: f"{s.figure}, {s.point.system}, {s.point.weight_dtype}"),
)


def shipped_rows() -> list[ScoredServing]:
    """Return every scored figure of the shipped table."""
    return list(scored_servings(load_shipped_catalog()))


def page(rows: Sequence[ScoredServing]) -> str:
    """Return the strata as a Markdown page."""
    return "\n\n".join([_HEADING, *("\n".join(_table(title, rows, key)) for title, key in _KEYS), _TAIL]) + "\n"


def document(rows: Sequence[ScoredServing]) -> dict[str, list[dict[str, object]]]:
    """Return the strata as plain data."""
    return {title: list(_strata(rows, key)) for title, key in _KEYS}


def write_csv(rows: Sequence[ScoredServing], path: Path) -> None:
    """Write every row, the unit of a figure in its name."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "role", "figure", "measured", "predicted", "error_ratio", "in_range", "source"])
        writer.writerows(
            [s.point.id, s.point.role, s.figure, s.measured, s.predicted, s.error_ratio, str(s.in_range).lower(),
             s.point.source]
            for s in rows
        )  # fmt: skip


def _strata(rows: Sequence[ScoredServing], key: Callable[[ScoredServing], str]) -> Iterator[dict[str, object]]:
    groups: dict[str, list[ScoredServing]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    for name, found in sorted(groups.items()):
        errors = [abs(s.error_ratio) for s in found]
        yield {
            "name": name,
            "rows": len(found),
            "mean_error_ratio": statistics.mean(errors),
            "median_error_ratio": statistics.median(errors),
            "bias_ratio": statistics.median(s.error_ratio for s in found),
            "worst_error_ratio": max(errors),
            "in_range_ratio": sum(s.in_range for s in found) / len(found),
            "roofline_median_error_ratio": statistics.median(abs(s.naive_error_ratio) for s in found),
        }


def _table(title: str, rows: Sequence[ScoredServing], key: Callable[[ScoredServing], str]) -> Iterator[str]:
    yield f"| {title} | rows | mean error | median | bias | worst | in range | roofline, median |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for s in _strata(rows, key):
        yield (
            f"| {s['name']} | {s['rows']} | {s['mean_error_ratio']:.1%} | {s['median_error_ratio']:.1%} "
            f"| {s['bias_ratio']:+.1%} | {s['worst_error_ratio']:.0%} | {s['in_range_ratio']:.0%} "
            f"| {s['roofline_median_error_ratio']:.0%} |"
        )
