"""The published serving figures of validation/inference.csv. Every row has its source and its role."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from service.shipped import shipped_path

SERVING = "inference.csv"


@dataclass(frozen=True, slots=True)
class ServingPoint:
    """One published figure; a blank cell of the table is None.

    Parameters
    ----------
    kind : str
        max_throughput, concurrency_point or min_latency.
    role : str
        fit; twin (like a validate row) and validate: never fitted on; context and apart: neither scored.
    """

    id: str
    table: str
    kind: str
    model: str
    system: str
    gpus: int
    tensor_parallel_size: int
    expert_parallel_size: int
    attention_data_parallel_size: int
    engine: str
    weight_dtype: str
    kv_dtype: str | None
    input_tokens: int
    output_tokens: int
    length_spread: float
    concurrency: int | None
    ttft_seconds: float | None
    tpot_seconds: float | None
    output_tokens_per_second: float | None
    quality: str
    role: str
    source: str


def serving_points() -> list[ServingPoint]:
    """Return every row of the table."""
    with (shipped_path("validation") / SERVING).open(newline="", encoding="utf-8") as file:
        return [_point(row) for row in csv.DictReader(file)]


def _point(row: dict[str, str]) -> ServingPoint:
    def number(name: str) -> float | None:
        return float(row[name]) if row[name] else None

    return ServingPoint(
        id=row["id"],
        table=row["table"],
        kind=row["kind"],
        model=row["model"],
        system=row["system"],
        gpus=int(row["gpus"]),
        tensor_parallel_size=int(row["tensor_parallel_size"]),
        expert_parallel_size=int(row["expert_parallel_size"] or 1),
        attention_data_parallel_size=int(row["attention_data_parallel_size"] or 1),
        engine=row["engine"],
        weight_dtype=row["weight_dtype"],
        kv_dtype=row["kv_dtype"] or None,
        input_tokens=round(float(row["input_tokens"] or 1)),
        output_tokens=round(float(row["output_tokens"] or 1)),
        length_spread=number("length_spread") or 0.0,
        concurrency=int(row["concurrency"]) if row["concurrency"] else None,
        ttft_seconds=number("ttft_seconds"),
        tpot_seconds=number("tpot_seconds"),
        output_tokens_per_second=number("output_tokens_per_second"),
        quality=row["quality"],
        role=row["role"],
        source=row["source_url"],
    )
