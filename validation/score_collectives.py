"""Scores the collective model against every published row that the project carries, and writes docs/accuracy.md.

    python -m validation.score_collectives [--check]

Beside it stands the naive formula: factor × S over the per-direction rate, no latency.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.core.collectives.cost import Collective
from service.core.numerics import Dtype
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion
from validation.fit_collectives import GENERATIONS
from validation.fit_fabrics import predicted
from validation.measurements import CollectivePoint, networked, newest_single_node, public_single_domain

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
BANDS = ((262144, "to 256 KiB"), (67108863, "to 64 MiB"), (float("inf"), "64 MiB and more"))
SYSTEMS = tuple(s for g in GENERATIONS for s in (*g.fitted_systems, *g.held_out_systems))


@dataclass(frozen=True, slots=True)
class Score:
    """One row's errors: predicted over measured, less one."""

    point: CollectivePoint
    error_ratio: float
    naive_error_ratio: float
    in_range: bool


def score(points: Iterable[CollectivePoint], catalog: Catalog) -> list[Score]:
    """Return the errors of every point."""
    scores = []
    for point in points:
        question = CollectiveQuestion(
            point.system,
            Collective(point.collective),
            point.gpus,
            size_bytes=point.size_bytes,
            dtype=Dtype(point.dtype),
        )
        answer = estimate_collective(question, catalog)
        scores.append(
            Score(
                point,
                answer.result.seconds / point.seconds - 1,
                answer.ideal.seconds / point.seconds - 1,
                answer.range.low <= point.seconds <= answer.range.high,
            )
        )
    return scores


def _table(scores: Sequence[Score], first: str, group: Sequence[tuple[str, list[Score]]]) -> list[str]:
    lines = [
        f"| {first} | rows | median error | 90 % within | worst | in range | naive formula, median |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for label, found in [*group, ("**all**", list(scores))]:
        errors = sorted(abs(s.error_ratio) for s in found)
        naive = statistics.median(abs(s.naive_error_ratio) for s in found)
        inside = sum(s.in_range for s in found) / len(found)
        lines.append(
            f"| {label} | {len(found)} | {statistics.median(errors):.1%} | {errors[int(0.9 * len(errors))]:.1%} "
            f"| {errors[-1]:.0%} | {inside:.0%} | {naive:.0%} |"
        )
    return lines


def _grouped(scores: Iterable[Score], key: object) -> list[tuple[str, list[Score]]]:
    groups: dict[str, list[Score]] = defaultdict(list)
    for found in scores:
        groups[key(found)].append(found)  # type: ignore[operator]
    return sorted(groups.items())


def _band(found: Score) -> str:
    return next(label for upper, label in BANDS if found.point.size_bytes <= upper)


def _role(found: Score) -> str:
    point = found.point
    generation = next(g for g in GENERATIONS if point.system in (*g.fitted_systems, *g.held_out_systems))
    fitted = point.system in generation.fitted_systems and point.gpus in generation.fitted_gpus
    return f"{point.system}, {'fitted' if fitted else 'held out'}, {point.gpus} GPUs"


def _networked_table(catalog: Catalog) -> list[str]:
    lines = ["| cluster, GPUs | collective | rows | median error | worst |", "|---|---|---:|---:|---:|"]
    groups: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for point in networked():
        groups[point.table, point.gpus, point.collective].append(abs(predicted(point, catalog) / point.seconds - 1))
    for (table, gpus, collective), errors in sorted(groups.items()):
        lines.append(
            f"| {table}, {gpus} | {collective} | {len(errors)} | {statistics.median(errors):.1%} | {max(errors):.0%} |"
        )
    everything = sorted(e for errors in groups.values() for e in errors)
    p90 = everything[int(0.9 * len(everything))]
    lines.append(
        f"| **all several-domain rows** | | {len(everything)} | {statistics.median(everything):.1%} "
        f"| 90 % within {p90:.1%} |"
    )
    return lines


def page() -> str:
    """Return docs/accuracy.md."""
    catalog = load_shipped_catalog()
    tables = score([p for p in newest_single_node() if p.system in SYSTEMS], catalog)
    public = score([p for p in public_single_domain() if "pair" not in p.system], catalog)
    lines = [
        "# How far off the estimates are",
        "",
        "Written by `python -m validation.score_collectives`; a test writes it again and compares.",
        "Error is predicted over measured, less one. *Held out*: no row of that system or GPU count was fitted on.",
        "*In range*: the share of rows inside the range that the answer states, which is meant to be 90 %.",
        "The naive formula is factor × S over the per-direction rate of the links.",
        "",
        "## nccl-tests inside one node: NVIDIA aiconfigurator-core 0.12.0, newest NCCL of each system",
        "",
        "fp16 and int8, eager, 512 B to 512 MiB (`validation/collectives_single_node.csv`).",
        "",
        *_table(tables, "system and role", _grouped(tables, _role)),
        "",
        *_table(tables, "collective", _grouped(tables, lambda s: s.point.collective)),
        "",
        *_table(tables, "size", [(label, [s for s in tables if _band(s) == label]) for _, label in BANDS]),
        "",
        "## Public nccl-tests runs inside one NVLink domain",
        "",
        "Other hosts, NCCL versions and harnesses (`validation/collectives_public.csv`, each row with its URL). Only",
        "the rate that the switch sustains on the largest all-reduces was taken from here. Small messages in older or",
        "framework-timed tables are up to twice as slow as nccl-tests of today.",
        "",
        *_table(public, "system", _grouped(public, lambda s: f"{s.point.system}, {s.point.gpus} GPUs")),
        "",
        *_table(public, "size", [(label, [s for s in public if _band(s) == label]) for _, label in BANDS]),
        "",
        "## Public nccl-tests runs over several domains",
        "",
        "Two constants a fabric, fitted on these rows by `python -m validation.fit_fabrics`, which also scores each",
        "cluster left out of its fabric's fit (`hardware_catalog/calibrations/fabrics.yaml`). Rows:",
        "`validation/collectives_networked.csv`, each with its URL.",
        "",
        *_networked_table(catalog),
        "",
        "Not scored: rows marked suspect, and rows labelled `dir label 2.23`, whose NCCL version is not known.",
        "No public table of broadcast or reduce was found: those estimates are unvalidated and say so.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the page; with --check only say whether it would change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page would change")
    text = page()
    if parser.parse_args().check:
        raise SystemExit(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
