"""`stepcast accuracy`: how far the estimates are from published measurements."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import click

from service.catalog.catalog import Catalog
from service.planning.collective_accuracy import ScoredRow, Stratum, scored_rows, strata, stratum
from service.planning.expert_accuracy import scored_exchanges

_HEADING = """# How far off the estimates are

Written by `stepcast accuracy collectives --markdown docs/accuracy.md`; a test writes it again and compares.
Error is predicted over measured, less one. *Held out*: no row of that system or GPU count was fitted on, but for the
rate that a switch sustains on buffers of 1 GiB and more. *In range*: the share of rows inside the range that the answer
states, meant to be 90 %; *width*: the range's upper end over its lower. The naive formula is factor × S over the
per-direction rate."""

_ABOUT = {
    "single-node": """## nccl-tests inside one node: NVIDIA aiconfigurator-core 0.12.0, newest NCCL of each system

fp16 and int8, eager, 512 B to 512 MiB (`validation/collectives_single_node.csv`), drawn by
`python -m validation.plots`:

![bus bandwidth against size, estimated and measured](plots/collectives-one-domain.svg)""",
    "public": """## Public nccl-tests runs inside one NVLink domain

Other hosts, NCCL versions and harnesses (`validation/collectives_public.csv`, each row with its URL). Small messages in
older or framework-timed tables are up to twice as slow as nccl-tests of today.""",
    "networked": """## Public nccl-tests runs over several domains

Two constants a fabric, fitted on these rows by `python -m validation.fit_fabrics`; each cluster left out of its
fabric's fit is in `docs/cross-validation.md`. Rows: `validation/collectives_networked.csv`, each with its URL. A job
over many racks is the known miss, and not fitted on: the one public run of 20 takes up to twice what is predicted.

![bus bandwidth against size, estimated and measured](plots/collectives-several-domains.svg)""",
    "frameworks": """## All-reduce of serving frameworks inside one node

TensorRT-LLM, vLLM and SGLang, bf16, newest version of each on each system, 256 B to 1 GiB, replayed from CUDA graphs or
launched by Python (`validation/collectives_frameworks.csv`). *Handed to NCCL*: larger than the framework's own kernels
take. Fitted by `python -m validation.fit_custom_all_reduce` on 2 and 8 GPUs of one system a generation, but for kernels
that those rows hardly show.""",
}
_ABOUT["experts"] = """## Expert dispatch and combine

DeepEP in SGLang, vLLM and TensorRT-LLM, and TensorRT-LLM's kernels over NVLink (`validation/expert_exchange.csv`).
Fitted by `python -m validation.fit_expert_exchange` on one system of each kind of board; the other is held out. The
naive formula sends every token once an expert at the per-direction rate."""
_KEYS: dict[str, tuple[tuple[str, Callable[[ScoredRow], str]], ...]] = {
    "single-node": (
        ("system, role, GPUs", lambda row: f"{row.system}, {row.role}, {row.gpus} GPUs"),
        ("collective", lambda row: row.collective),
        ("size", lambda row: row.band),
    ),
    "public": (
        ("system, GPUs", lambda row: f"{row.system}, {row.gpus} GPUs"),
        ("size", lambda row: row.band),
    ),
    "networked": (
        ("cluster, GPUs, collective", lambda row: f"{row.cluster}, {row.gpus} GPUs, {row.collective}"),
        ("size", lambda row: row.band),
    ),
    "frameworks": (
        ("implementation, launch, role", lambda row: f"{row.implementation}, {row.launch}, {row.role}"),
        ("launch, system, GPUs", lambda row: f"{row.launch}, {row.system}, {row.gpus} GPUs"),
        ("launch, role, size", lambda row: f"{row.launch}, {row.role}, {row.band}"),
    ),
    "experts": (
        ("kernel, phase, role", lambda row: f"{row.cluster}, {row.collective.removeprefix('expert_')}, {row.role}"),
        ("system, GPUs", lambda row: f"{row.system}, {row.gpus} GPUs"),
        ("tokens of a rank", lambda row: row.band),
    ),
}
_TAIL = """Not scored: rows marked suspect, rows labelled `dir label 2.23`, whose NCCL version is not known, and boards
without a catalogue system. No public table of broadcast or reduce was found: those estimates are unvalidated and say
so."""


@click.group()
def accuracy() -> None:
    """Estimates held against published measurements."""


@accuracy.command()
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the page to this file, too.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write every stratum as JSON.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write every row as CSV.")
def collectives(markdown: Path | None, json_file: Path | None, csv_file: Path | None) -> None:
    """Predict every published collective; print the errors by system, collective, GPUs and size."""
    from service.catalog.catalog import load_shipped_catalog  # here: reading YAML is not every command's business

    rows = every_row(load_shipped_catalog())
    text = page(rows)
    click.echo(text)
    if markdown:
        markdown.write_text(text, encoding="utf-8")
    if json_file:
        json_file.write_text(json.dumps(document(rows), indent=1) + "\n", encoding="utf-8")
    if csv_file:
        write_csv(rows, csv_file)


@accuracy.command()
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the page to this file, too.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write every stratum as JSON.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write every row as CSV.")
def inference(markdown: Path | None, json_file: Path | None, csv_file: Path | None) -> None:
    """Predict every published serving figure; print the errors by figure, model, system and format."""
    from service.cli import inference_accuracy  # here: the planner is not every command's business

    rows = inference_accuracy.shipped_rows()
    text = inference_accuracy.page(rows)
    click.echo(text)
    if markdown:
        markdown.write_text(text, encoding="utf-8")
    if json_file:
        json_file.write_text(json.dumps(inference_accuracy.document(rows), indent=1) + "\n", encoding="utf-8")
    if csv_file:
        inference_accuracy.write_csv(rows, csv_file)


def every_row(catalog: Catalog) -> list[ScoredRow]:
    """Return every published row of every table, predicted."""
    return [*scored_rows(catalog), *scored_exchanges(catalog)]


def page(rows: Sequence[ScoredRow]) -> str:
    """Return the strata as a Markdown page."""
    sections = [_HEADING]
    for table, about in _ABOUT.items():
        mine = [row for row in rows if row.table == table]
        sections.append(about)
        sections += [
            "\n".join(_table(title, strata(mine, key), stratum("**all**", mine))) for title, key in _KEYS[table]
        ]
    return "\n\n".join([*sections, _TAIL]) + "\n"


def document(rows: Sequence[ScoredRow]) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Return the strata of each table as plain data."""
    return {
        table: {
            title: [asdict(s) for s in strata([row for row in rows if row.table == table], key)] for title, key in keys
        }
        for table, keys in _KEYS.items()
    }


def write_csv(rows: Sequence[ScoredRow], path: Path) -> None:
    """Write every row, SI, the unit in each column's name."""
    names = [field.name for field in fields(ScoredRow)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "in_range"])
        writer.writerows([*(getattr(row, name) for name in names), str(row.in_range).lower()] for row in rows)


def _table(title: str, found: Sequence[Stratum], everything: Stratum) -> Iterator[str]:
    yield f"| {title} | rows | median error | 90 % within | worst | in range | width | naive formula, median |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for each in (*found, everything):
        yield (
            f"| {each.name} | {each.rows} | {each.median_error_ratio:.1%} | {each.p90_error_ratio:.1%} "
            f"| {each.worst_error_ratio:.0%} | {each.in_range_ratio:.0%} | {each.median_range_width_ratio:.2f} "
            f"| {each.naive_median_error_ratio:.0%} |"
        )
