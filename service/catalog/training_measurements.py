"""The published training figures of validation/training.csv. Every row is a question, with its source and its role."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.shipped import shipped_path

TRAINING = "training.csv"


@dataclass(frozen=True, slots=True)
class TrainingPoint:
    """One published figure.

    Parameters
    ----------
    role : str
        calibrate: may be fitted on; twin (like a validate row) and validate: scored, never fitted on.
    question : Mapping[str, Any]
        The fields of /v1/estimates/training-step that ask for it.
    step_seconds : float or None
        None where the source gives FLOP/s only. [s]
    flops_per_second_per_gpu : float or None
        As the source counts them, see `flop_convention`. [FLOP/s]
    flop_convention : str
        causal, full (the masked half counts too), hardware (recomputation too), or blank.
    peak_memory_bytes : float or None
        Of one GPU, where stated; GB of frameworks' counters are taken for GiB. [B]
    assumed : str
        What the source does not state and the question says all the same.
    left_out : str
        Why it is neither fitted nor scored; blank for the others.
    """

    id: str
    source: str
    role: str
    question: Mapping[str, Any]
    step_seconds: float | None
    flops_per_second_per_gpu: float | None
    flop_convention: str
    peak_memory_bytes: float | None
    assumed: str
    left_out: str
    source_url: str


def training_points() -> list[TrainingPoint]:
    """Return every row of the table."""
    with (shipped_path("validation") / TRAINING).open(newline="", encoding="utf-8") as file:
        return [_point(row) for row in csv.DictReader(file)]


def _point(row: dict[str, str]) -> TrainingPoint:
    def number(name: str) -> float | None:
        return float(row[name]) if row[name] else None

    return TrainingPoint(
        id=row["id"],
        source=row["source"],
        role=row["role"],
        question=json.loads(row["question"]),
        step_seconds=number("step_seconds"),
        flops_per_second_per_gpu=number("flops_per_second_per_gpu"),
        flop_convention=row["flop_convention"],
        peak_memory_bytes=number("peak_memory_bytes"),
        assumed=row["assumed"],
        left_out=row["left_out"],
        source_url=row["source_url"],
    )
