"""The published measurements of validation/. Every row has its source; doubted rows are kept and left out."""

from __future__ import annotations

import csv
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from service.catalog.quantities import parse_quantity
from service.shipped import shipped_path

SINGLE_NODE = "collectives_single_node.csv"
PUBLIC = "collectives_public.csv"
NETWORKED = "collectives_networked.csv"
FRAMEWORKS = "collectives_frameworks.csv"
EXPERTS = "expert_exchange.csv"
_NODE_GPUS = 8


@dataclass(frozen=True, slots=True)
class CollectivePoint:
    """One measured point; `seconds` is the median of its repeats."""

    system: str
    collective: str
    dtype: str
    gpus: int
    size_bytes: int
    seconds: float
    repeats: int
    source: str


def _rows(name: str) -> list[dict[str, str]]:
    with (shipped_path("validation") / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def newest_single_node() -> list[CollectivePoint]:
    """Return nccl-tests points inside one node: newest NCCL of each system, doubted rows left out."""
    rows = [r for r in _rows(SINGLE_NODE) if not r["suspect"] and r["nccl_version"][0].isdigit()]
    newest: dict[str, tuple[int, ...]] = {}
    for row in rows:
        version = tuple(map(int, row["nccl_version"].split(".")))
        newest[row["system"]] = max(newest.get(row["system"], (0,)), version)
    kept = [r for r in rows if tuple(map(int, r["nccl_version"].split("."))) == newest[r["system"]]]
    return _medians(kept, "source_file")


def public_single_domain() -> list[CollectivePoint]:
    """Return points of public nccl-tests runs inside one NVLink domain, doubted rows left out."""
    rows = [r for r in _rows(PUBLIC) if not r["suspect"] and r["seconds"]]
    return _medians(rows, "source_url")


def _medians(rows: Iterable[dict[str, str]], source: str) -> list[CollectivePoint]:
    repeats: dict[tuple[str, str, str, int, int], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        key = (row["system"], row["collective"], row["dtype"] or "fp16", int(row["gpus"]), int(row["size_bytes"]))
        repeats[key].append(row)
    return [
        CollectivePoint(*key, statistics.median(float(r["seconds"]) for r in found), len(found), found[0][source])
        for key, found in repeats.items()
    ]


@dataclass(frozen=True, slots=True)
class FrameworkPoint:
    """One measured all-reduce of a serving framework inside one node."""

    system: str
    implementation: str
    version: str
    launch: str
    dtype: str
    gpus: int
    size_bytes: int
    seconds: float
    source: str


def newest_frameworks() -> list[FrameworkPoint]:
    """Return all-reduces of serving frameworks: newest version on each system, doubted rows left out."""
    rows = _rows(FRAMEWORKS)
    newest: dict[tuple[str, str], tuple[tuple[int, ...], str]] = {}
    for row in rows:
        key, version = (row["system"], row["implementation"]), row["version"]
        newest[key] = max(newest.get(key, ((), "")), (tuple(map(int, re.findall(r"\d+", version))), version))
    return [
        FrameworkPoint(
            row["system"], row["implementation"], row["version"], row["launch"], row["dtype"], int(row["gpus"]),
            int(row["size_bytes"]), float(row["seconds"]), row["source_file"],
        )
        for row in rows
        if not row["suspect"] and row["version"] == newest[row["system"], row["implementation"]][1]
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class NetworkedPoint:
    """One measured point of a group over several scale-up domains."""

    table: str
    system: str
    network: str
    nic_bytes_per_second: float
    collective: str
    dtype: str
    gpus: int
    gpus_per_domain: int
    size_bytes: int
    seconds: float
    source: str

    @property
    def over_many_racks(self) -> bool:
        """Whether more than two racks take part: what binds those is not understood, so they set no constant."""
        return self.gpus_per_domain > _NODE_GPUS and self.gpus > 2 * self.gpus_per_domain


def networked() -> list[NetworkedPoint]:
    """Return points of public runs over several domains, doubted rows left out, repeats as their median."""
    rows = [r for r in _rows(NETWORKED) if not r["suspect"]]
    repeats: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        repeats[row["table"], row["collective"], row["gpus"], row["size_bytes"]].append(row)
    return [
        NetworkedPoint(
            table=found[0]["table"],
            system=found[0]["system"],
            network=found[0]["network"],
            nic_bytes_per_second=parse_quantity(f"{found[0]['nic_gbits']} Gbit/s", "bytes_per_second"),
            collective=found[0]["collective"],
            dtype=found[0]["dtype"] or "fp32",
            gpus=int(found[0]["gpus"]),
            gpus_per_domain=int(found[0]["gpus_per_domain"]),
            size_bytes=int(found[0]["size_bytes"]),
            seconds=statistics.median(float(r["seconds"]) for r in found),
            source=found[0]["source_url"],
        )
        for found in repeats.values()
    ]


@dataclass(frozen=True, slots=True)
class ExchangePoint:
    """One measured point of an expert dispatch or combine; `gpus` is the expert-parallel group."""

    id: str
    system: str
    implementation: str
    kernel: str
    phase: str
    dtype: str
    gpus: int
    gpus_per_domain: int
    hidden_size: int
    top_k: int
    num_experts: int
    tokens: int
    sms: int
    seconds: float


def expert_exchanges() -> list[ExchangePoint]:
    """Return every point of the table whose experts divide among its ranks."""
    return [
        ExchangePoint(
            id=row["id"],
            system=row["system"],
            implementation=row["implementation"],
            kernel=row["kernel"],
            phase=row["phase"],
            dtype=row["dtype"] or "bf16",
            gpus=int(row["gpus"]),
            gpus_per_domain=min(int(row["gpus"]), _NODE_GPUS if row["system"].startswith("dgx") else int(row["gpus"])),
            hidden_size=int(row["hidden_size"]),
            top_k=int(row["top_k"]),
            num_experts=int(row["num_experts"]),
            tokens=int(row["tokens"]),
            sms=int(row["sms"]),
            seconds=float(row["seconds"]),
        )
        for row in _rows(EXPERTS)
        if int(row["num_experts"]) % int(row["gpus"]) == 0
    ]
