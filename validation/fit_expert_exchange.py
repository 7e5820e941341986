"""Fits the kernels of expert dispatch and combine; writes hardware_catalog/calibrations/expert-exchange.yaml.

    python -m validation.fit_expert_exchange

One set of constants a library, kernel, phase and dtype on each kind of board, fitted on one system of it; the other
system is held out and only scored. Needs the dev requirements.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from service.catalog.expert_exchange import FILE, token_bytes
from service.catalog.measurements import ExchangePoint, expert_exchanges
from service.core.collectives.expert_exchange import ranks_reached

OUT = Path(__file__).parents[1] / "hardware_catalog" / "calibrations" / FILE
COMMAND = "python -m validation.fit_expert_exchange"
PRIOR_WEIGHT = 0.05
FEW_TOKENS = 128
SPREAD = 0.05, 0.95
NIC_BYTES_PER_SECOND = 50e9  # NDR a GPU, as DGX H100 and H200 have; the table does not say
NODE_GPUS = 8

# Board: architectures it stands for, accelerators, fitted system, held-out system, link of a GPU one way.
BOARDS = (
    ("hopper", ["hopper"], ["h100-sxm5-80gb", "h200-sxm-141gb"], "dgx-h100", "dgx-h200", 450e9),
    ("blackwell", ["blackwell", "blackwell-ultra"], ["b200-sxm-180gb", "b300-sxm"], "dgx-b200", "dgx-b300", 900e9),
    ("grace-blackwell", [], ["gb200", "gb300"], "gb200-nvl72", "gb300-nvl72", 900e9),
)  # fmt: skip

# log of start, low, high: launch [s], rate of an SM [B/s], what it handles beside the copies that leave [copies],
# share of the link, sharpness, share of the NIC, hop [s].
STARTS = np.log([3e-5, 1.5e10, 1.0, 0.5, 1.0, 0.9, 1e-5])
LOWS = np.log([1e-6, 1e9, 0.01, 0.001, 0.5, 0.5, 1e-6])
HIGHS = np.log([1e-3, 1e11, 10.0, 1.0, 4.0, 1.0, 1e-4])

reached = cache(ranks_reached)


class Rows:
    """Rows of one kernel as columns."""

    def __init__(self, points: Sequence[ExchangePoint], link: float) -> None:
        def column(values: Sequence[float]) -> np.ndarray:
            return np.array(values, dtype=float)

        self.points, self.link = points, link
        self.seconds = column([p.seconds for p in points])
        self.sms = column([p.sms for p in points])
        self.tokens = column([p.tokens for p in points])
        wire = column([p.tokens * token_bytes(p.phase, p.hidden_size, p.dtype) for p in points])
        leaving = column([(p.gpus - 1) / p.gpus for p in points])
        far = column([max(0, p.gpus - p.gpus_per_domain) / (p.gpus - 1) for p in points])
        self.copies = {
            True: column([p.top_k for p in points]) * leaving * wire,
            False: column([reached(p.num_experts, p.top_k, p.gpus) for p in points]) * leaving * wire,
        }
        self.far, self.once = far, wire

    def predicted(self, logs: np.ndarray, per_expert: bool) -> np.ndarray:
        """Return the seconds that constants give; the law is service/core/collectives/expert_exchange.py."""
        launch, sm, local, link, p, nic, hop = np.exp(logs)
        sent = self.copies[per_expert]
        near = sent * (1 - self.far)
        transfer = np.maximum(near / (link * self.link), sent * self.far / (nic * NIC_BYTES_PER_SECOND))
        with np.errstate(divide="ignore", invalid="ignore"):
            handled = np.where(self.sms > 0, (near + local * self.once) / (self.sms * sm), 0.0)
        transfer = np.maximum(transfer, handled)
        latency = launch + np.where(self.far > 0, hop, 0.0)
        return np.asarray((latency**p + transfer**p) ** (1 / p))


def fit(rows: Rows, per_expert: bool) -> tuple[np.ndarray, float]:
    """Return the constants' logarithms that meet the rows best, and their median error."""

    def log_ratios(logs: np.ndarray) -> np.ndarray:
        return np.concatenate([np.log(rows.predicted(logs, per_expert) / rows.seconds), PRIOR_WEIGHT * (logs - STARTS)])

    found = least_squares(log_ratios, STARTS, bounds=(LOWS, HIGHS), loss="soft_l1", f_scale=0.1, max_nfev=200)
    logs = np.log([float(f"{x:.3g}") for x in np.exp(found.x)])
    return logs, float(np.median(np.abs(rows.predicted(logs, per_expert) / rows.seconds - 1)))


def _entry(points: Sequence[ExchangePoint], fitted_system: str, link: float) -> tuple[list[str], np.ndarray]:
    first = points[0]
    fitted = [p for p in points if p.system == fitted_system] or list(points)
    per_expert = min((True, False), key=lambda way: fit(Rows(fitted, link), way)[1])
    if first.kernel == "deepep_normal":
        per_expert = False
    logs, _ = fit(Rows(fitted, link), per_expert)
    launch, sm, local, share, p, nic, hop = np.exp(logs)
    everything = Rows(points, link)
    ratios = everything.seconds / everything.predicted(logs, per_expert)
    sms = sorted({int(p.sms) for p in points} - {0})
    far = bool(everything.far.any())
    constants = {
        "launch": f"{launch * 1e6:.3g} us",
        "sm": f"{sm * 1e-9:.3g} GB/s" if sms else "0 GB/s",
        "local_copies": f"{local:.3g}" if sms else "0",
        "link_ratio": f"{share:.3g}",
        "sharpness": f"{p:.3g}",
        "nic_ratio": f"{nic:.3g}" if far else "0",
        "hop": f"{hop * 1e6:.3g} us" if far else "0 us",
    }
    measured: dict[str, set[int]] = defaultdict(set)
    for point in points:
        measured[point.system].add(point.gpus)
    where = ", ".join(f"{s}: [{', '.join(map(str, sorted(n)))}]" for s, n in sorted(measured.items()))
    lines = [
        f"      - {{implementation: {first.implementation}, kernel: {first.kernel}, phase: {first.phase}, "
        f"dtype: {first.dtype}, per_expert: {str(per_expert).lower()}, rows: {len(points)}, sms: {sms},",
        f"         measured: {{{where}}},",
        f"         constants: {{{', '.join(f'{k}: {v}' for k, v in constants.items())}}},",
        f"         residuals: [{', '.join(_bands(everything.tokens, ratios))}],",
    ]
    own = {p.system for p in fitted}
    for name, mine in (("fitted", own), ("held_out", {p.system for p in points} - own)):
        errors = [abs(1 / r - 1) for r, point in zip(ratios, points, strict=True) if point.system in mine]
        if errors:
            lines.append(
                f"         {name}: {{rows: {len(errors)}, median_error_ratio: {np.median(errors):.3f}, "
                f"p90_error_ratio: {np.quantile(errors, 0.9):.3f}}},"
            )
    lines[-1] = lines[-1].rstrip(",") + "}"
    return lines, np.abs(1 / ratios - 1)


def _bands(tokens: np.ndarray, ratios: np.ndarray) -> list[str]:
    few = tokens <= FEW_TOKENS
    found = []
    for upper, mine in ((f"up_to: {FEW_TOKENS}, ", ratios[few]), ("", ratios[~few])):
        held = mine if len(mine) else ratios
        low, high = np.quantile(held, SPREAD)
        found.append(f"{{{upper}low: {low:.3f}, high: {high:.3f}}}")
    return found


def fitted_file() -> str:
    """Return what expert-exchange.yaml should say."""
    by_kernel: dict[tuple[str, ...], list[ExchangePoint]] = defaultdict(list)
    for point in expert_exchanges():
        by_kernel[point.implementation, point.kernel, point.phase, point.dtype].append(point)
    lines = [
        f"# Written by `{COMMAND}`; do not edit. The law: service/core/collectives/expert_exchange.py.",
        "# Rows: validation/expert_exchange.csv, NVIDIA aiconfigurator-core 0.12.0, Apache-2.0.",
        "# residuals: measured over predicted, the middle 90 % of all rows, by tokens a rank.",
        "id: expert-exchange",
        "kind: expert-exchange",
        f"fitted_by: {COMMAND}",
        "boards:",
    ]
    everything: list[float] = []
    for name, architectures, accelerators, fitted, held_out, link in BOARDS:
        lines += [
            f"  - id: {name}",
            f"    architectures: [{', '.join(architectures)}]",
            f"    accelerators: [{', '.join(accelerators)}]",
            f"    fitted_on: {fitted}",
            "    kernels:",
        ]
        for _, points in sorted(by_kernel.items()):
            mine = [p for p in points if p.system in (fitted, held_out)]
            if mine:
                found, errors = _entry(mine, fitted, link)
                lines += found
                everything += list(errors)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit every kernel and write the file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = fitted_file()
    OUT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
