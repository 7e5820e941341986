"""Fits what each fabric between scale-up domains gives NCCL, and writes hardware_catalog/calibrations/fabrics.yaml.

    python -m validation.fit_fabrics

Two constants a fabric: a hop over the network, and the share of the NICs' line rate that payload reaches. Everything
inside a domain comes from the collectives-* calibrations, fitted on single nodes; NCCL's tuner says which way it is.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.catalog.fabric_calibrations import FabricCalibration, FabricCalibrations
from service.catalog.measurements import NetworkedPoint, networked
from service.core.collectives.algorithms import candidates, chosen
from service.core.collectives.cost import Collective
from service.core.numerics import Dtype
from service.planning.collective_accuracy import networked_system

FILE = Path(__file__).parents[1] / "hardware_catalog" / "calibrations" / "fabrics.yaml"
COMMAND = "python -m validation.fit_fabrics"
COVERAGE_RATIO = 0.9
STARTS = (1e-5, 0.9)  # seconds of a hop, share of the line rate
PRIOR_WEIGHT = 0.05  # of the starts, as in fit_collectives: decides only what no row tells apart

# Fabric, the catalogue's networks that it stands for. Those without public rows borrow the nearest of their kind.
FABRICS: dict[str, tuple[str, ...]] = {
    "infiniband": (
        "infiniband-edr", "infiniband-hdr", "infiniband-ndr", "infiniband-xdr", "infiniband-gdr", "omni-path-100",
        "azure-hdr-nd-a100-v4", "azure-ndr-nd-h100-v5", "azure-ndr-nd-h200-v5", "azure-ndr-nd-gb200-v6",
        "azure-xdr-nd-gb300-v6", "azure-ndr-nd-mi300x-v5",
    ),
    "gcp-roce": ("gcp-roce-a3-ultra", "gcp-roce-a4", "gcp-roce-a4x", "gcp-roce-a4x-max"),
    "oci-roce": ("oci-roce-8x400", "oci-roce-gb200", "ethernet-100", "ethernet-200", "ethernet-400", "ethernet-800",
                 "ethernet-1600"),
    "efa": ("efa-p5", "efa-p5en", "efa-p6-b200", "efa-p6-b300", "efa-p6e-gb200", "efa-trn2"),
    "efa-v1": ("efa-p4d", "efa-p3dn", "efa-trn1"),
    "gpudirect-tcpxo": ("gcp-tcpxo-a3-mega",),
    "gpudirect-tcpx": ("gcp-tcpx-a3-high", "gcp-gvnic-a2"),
}  # fmt: skip
# A fabric without public rows: whose hop it borrows, and the share of the line rate that its operator's runs are said
# to reach (92 to 95 % for TCPXO, as for EFA: both move the transport off the host's TCP stack).
BORROWED = {"gpudirect-tcpxo": ("efa", 0.92)}


def predicted(point: NetworkedPoint, catalog: Catalog) -> float:
    """Return the seconds that the model gives for a row, the way NCCL's tuner picks."""
    system, placement = networked_system(point, catalog)
    path = catalog.calibrations.collective_path(system, placement)
    ways = candidates(Collective(point.collective), Dtype(point.dtype), point.gpus, point.size_bytes, path)
    cost = chosen(ways).cost
    if cost is None:
        raise ValueError(f"no way for {point}")
    return cost.seconds


def with_fabrics(catalog: Catalog, fabrics: FabricCalibrations) -> Catalog:
    """Return a catalogue that has these fabrics."""
    return dataclasses.replace(
        catalog, calibrations=dataclasses.replace(catalog.calibrations, fabrics=fabrics, _paths={})
    )


def fit(points: Sequence[NetworkedPoint], catalog: Catalog) -> tuple[float, float]:
    """Return the hop and the efficiency of one fabric that meet best those of its rows that may set constants."""
    points = [p for p in points if not p.over_many_racks]

    def log_ratios(logs: np.ndarray) -> list[float]:
        one = FabricCalibration("x", frozenset(), float(math.exp(logs[1])), float(math.exp(logs[0])), frozenset())
        tried = with_fabrics(catalog, FabricCalibrations((one,), 1.0, 1.0, 0))
        return [*(math.log(predicted(p, tried) / p.seconds) for p in points), *(PRIOR_WEIGHT * (logs - np.log(STARTS)))]

    found = least_squares(
        log_ratios,
        np.log(STARTS),
        bounds=(np.log([1e-6, 0.3]), np.log([2e-3, 0.98])),
        loss="soft_l1",
        f_scale=0.1,
        max_nfev=60,
    )
    return float(f"{math.exp(found.x[0]):.3g}"), float(f"{math.exp(found.x[1]):.3g}")


def _errors(points: Sequence[NetworkedPoint], catalog: Catalog) -> list[float]:
    return [p.seconds / predicted(p, catalog) for p in points]


def fitted_file() -> str:
    """Return what fabrics.yaml should say."""
    catalog = load_shipped_catalog()
    by_fabric = {name: [p for p in networked() if p.network in nets] for name, nets in FABRICS.items()}
    found = {name: fit(points, catalog) for name, points in by_fabric.items() if points}
    found |= {name: (found[like][0], efficiency) for name, (like, efficiency) in BORROWED.items()}
    fabrics = FabricCalibrations(
        tuple(
            FabricCalibration(name, frozenset(FABRICS[name]), efficiency, hop, frozenset())
            for name, (hop, efficiency) in found.items()
        ),
        1.0,
        1.0,
        0,
    )
    whole = with_fabrics(catalog, fabrics)
    ratios = [r for points in by_fabric.values() for r in _errors(points, whole)]
    lines = [
        f"# Written by `{COMMAND}`; do not edit. Rows: validation/collectives_networked.csv, each with its URL.",
        "# hop: one message GPU to GPU over the network; efficiency_ratio: payload over the NICs' line rate.",
        "# A run over more than two racks is scored, not fitted on. Each cluster left out: docs/cross-validation.md.",
        "id: fabrics",
        "kind: fabrics",
        f"fitted_by: {COMMAND}",
        "fabrics:",
    ]
    for name in FABRICS:
        hop, efficiency = found[name]
        points = by_fabric[name]
        if not points:
            lines += [
                f"  - name: {name}",
                f"    networks: [{', '.join(FABRICS[name])}]",
                "    measured: []",
                f"    hop: {float(f'{hop * 1e6:.3g}'):g} us   # of {BORROWED[name][0]}",
                f"    efficiency_ratio: {efficiency:g}   # stated, not fitted",
            ]
            continue
        fitted = [p for p in points if not p.over_many_racks]
        errors = sorted(abs(r - 1) for r in _errors(fitted, whole))
        lines += [
            f"  - name: {name}",
            f"    networks: [{', '.join(FABRICS[name])}]",
            f"    measured: [{', '.join(sorted({p.network for p in points}))}]",
            f"    hop: {float(f'{hop * 1e6:.3g}'):g} us",
            f"    efficiency_ratio: {efficiency:g}",
            f"    fitted: {{rows: {len(fitted)}, median_error_ratio: {np.median(errors):.3f}, "
            f"p90_error_ratio: {np.quantile(errors, 0.9):.3f}}}",
        ]
    tail = (1 - COVERAGE_RATIO) / 2
    errors = [abs(r - 1) for r in ratios]
    lines += [
        "",
        "# Measured over predicted, all fabrics; low_ratio and high_ratio hold the middle 90 %.",
        f"residuals: {{rows: {len(ratios)}, low_ratio: {np.quantile(ratios, tail):.3f}, "
        f"high_ratio: {np.quantile(ratios, 1 - tail):.3f}, median_error_ratio: {np.median(errors):.3f}, "
        f"p90_error_ratio: {np.quantile(errors, 0.9):.3f}}}",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit every fabric and write the file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = fitted_file()
    FILE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
