"""The tables of docs/kernels.md: how far the model is from each accelerator's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np

from validation.kernel_points import KernelPoint

HEADS = {
    "gemm": "matrix multiplication, by rows m",
    "prefill_attention": "attention over a sequence, by its tokens",
    "decode_attention": "attention for one new token, by bytes of the cache",
}
Scored = tuple[str, str, bool, KernelPoint, float]  # kernel, set, fitted, row, measured over predicted


def tables(scored: Iterable[Scored], bands: Mapping[str, Sequence[tuple[float, str]]]) -> str:
    """Return one table for each kind of kernel: median and 90th percentile of the error of every class of sizes."""
    rows = sorted(scored, key=lambda r: (list(HEADS).index(r[0]), r[3].accelerator, r[1], not r[2]))
    lines: list[str] = []
    for kernel, mine in groupby(rows, key=lambda r: r[0]):
        labels = [f"to {label}" if label else "above" for _, label in bands[kernel]]
        lines += [f"\n**{HEADS[kernel].capitalize()}**: median / 90th percentile of the error (rows)\n"]
        lines += [f"| accelerator | format | | {' | '.join(labels)} |", f"|---|---|---|{'---|' * len(labels)}"]
        for (accelerator, name, fitted), found in groupby(mine, key=lambda r: (r[3].accelerator, r[1], r[2])):
            kept, previous, cells = list(found), 0.0, []
            for upper, _ in bands[kernel]:
                off = [abs(ratio - 1) for _, _, _, point, ratio in kept if previous < point.size <= upper]
                previous = upper
                cells.append(f"{np.median(off):.1%} / {np.quantile(off, 0.9):.1%} ({len(off)})" if off else "")
            lines.append(f"| {accelerator} | {name} | {'fitted' if fitted else 'held out'} | {' | '.join(cells)} |")
    return "\n".join(lines).strip() + "\n"


def with_tables(page: str, text: str) -> str:
    """Return a page with what stands between its two markers replaced."""
    start, end = "<!-- figures -->\n", "<!-- end of figures -->"
    before, _, rest = page.partition(start)
    return before + start + "\n" + text + "\n" + end + rest.partition(end)[2]
