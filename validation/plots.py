"""Draws predicted and measured bus bandwidth against size, for docs/accuracy.md and docs/collectives.md.

    python -m validation.plots

The line is the estimate, the band its range, the points the published measurements. Needs the dev requirements.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.bandwidth import busbw
from service.core.collectives.cost import Collective
from service.planning.collective_accuracy import ScoredRow, scored_rows

FOLDER = Path(__file__).parents[1] / "docs" / "plots"


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: the rows of a cluster, a collective and a GPU count."""

    cluster: str
    collective: str
    gpus: int
    dtype: str = "fp16"

    def rows(self, everything: Sequence[ScoredRow], table: str) -> list[ScoredRow]:
        """Return its rows, small to large."""
        mine = (
            row
            for row in everything
            if (row.table, row.cluster, row.collective, row.gpus) == (table, self.cluster, self.collective, self.gpus)
            and (table == "networked" or row.dtype == self.dtype)
        )
        return sorted(mine, key=lambda row: row.size_bytes)


INSIDE = [
    Panel(system, collective, gpus)
    for collective in ("all_reduce", "all_gather", "all_to_all")
    for system, gpus in (("dgx-a100", 8), ("dgx-h100", 8), ("dgx-b200", 8), ("gb200-nvl72", 4))
]
BETWEEN = [
    Panel("Nebius HGX H100", "all_reduce", 16),
    Panel("AWS p5.48xlarge", "all_reduce", 16),
    Panel("AWS p4de.24xlarge", "all_reduce", 16),
    Panel("GCP A3 Ultra (HGX H200)", "all_gather", 16),
    Panel("OCI BM.GPU.B4.8/A100-v2", "all_reduce", 16),
    Panel("OCI BM.GPU.GB200-v3.4 (2 racks)", "all_reduce", 128),
]


def draw(panels: Sequence[Panel], rows: Sequence[ScoredRow], table: str, columns: int, path: Path) -> None:
    """Draw the panels into one SVG, which is the same each time the rows are."""
    plt.rcParams.update(
        {"svg.hashsalt": "stepcast", "svg.fonttype": "none", "font.size": 8, "font.family": "sans-serif"}
    )
    height = -(-len(panels) // columns)
    figure, axes = plt.subplots(height, columns, figsize=(2.9 * columns, 2.2 * height), layout="constrained")
    for axis, panel in zip(axes.flat, panels, strict=True):
        _panel(axis, panel, panel.rows(rows, table))
    figure.supxlabel("size")
    figure.supylabel("busbw, GB/s")
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def _panel(axis: Axes, panel: Panel, rows: Sequence[ScoredRow]) -> None:
    def rates(seconds: str) -> list[float]:
        collective = Collective(panel.collective)
        return [busbw(collective, row.gpus, row.size_bytes, getattr(row, seconds)) / 1e9 for row in rows]

    sizes = [row.size_bytes for row in rows]
    axis.fill_between(sizes, rates("high_seconds"), rates("low_seconds"), color="#4c78a8", alpha=0.25, linewidth=0)
    axis.plot(sizes, rates("predicted_seconds"), color="#4c78a8", linewidth=1.2, label="estimate and its range")
    axis.plot(sizes, rates("measured_seconds"), ".", color="#d62728", markersize=4, label="measured")
    axis.set(xscale="log", yscale="log", title=f"{panel.cluster}, {panel.gpus} GPUs\n{panel.collective}")
    axis.title.set_fontsize(7)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _size(size)))
    axis.set_xticks([1 << 10, 1 << 20, 1 << 30] if sizes[-1] > 1 << 30 else [1 << 10, 1 << 16, 1 << 22, 1 << 28])
    axis.minorticks_off()
    axis.grid(alpha=0.3, linewidth=0.5)
    axis.legend(fontsize=6, frameon=False, loc="lower right")


def _size(size_bytes: float) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:g} {unit}"
    return f"{size_bytes:g} B"


def main() -> None:
    """Draw both files."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    FOLDER.mkdir(exist_ok=True)
    rows = scored_rows(load_shipped_catalog())
    draw(INSIDE, rows, "single-node", 4, FOLDER / "collectives-one-domain.svg")
    draw(BETWEEN, rows, "networked", 3, FOLDER / "collectives-several-domains.svg")


if __name__ == "__main__":
    main()
