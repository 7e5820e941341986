"""One entry: checked by its schema, by what it contradicts in itself, and by what it refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from service.catalog.documents import EntryKind, schema_problems
from service.catalog.models import model_problems
from service.errors import FieldProblem

# Datasheets round: 153 GB/s for 2 x 76.8, 1.8 TB/s for 2 x 900.
_ROUNDING = 0.02


def entry_problems(kind: EntryKind, document: object, pointer: str = "") -> list[FieldProblem]:
    """Return all that is wrong with a document by itself: its shape first, its sense once the shape is right."""
    problems = schema_problems(kind, document, pointer)
    if problems or not isinstance(document, Mapping):
        return problems
    return sense_problems(kind, document, pointer)


def sense_problems(kind: EntryKind, document: Mapping[str, Any], pointer: str = "") -> list[FieldProblem]:
    """Return what contradicts itself in a document that its schema accepts."""
    rules: dict[EntryKind, Callable[[Mapping[str, Any], str], Iterable[FieldProblem]]] = {
        EntryKind.ACCELERATORS: _accelerator_problems,
        EntryKind.NETWORKS: _link_problems,
        EntryKind.SYSTEMS: _system_problems,
        EntryKind.MODELS: model_problems,
    }
    return [*rules[kind](document, pointer), *_source_problems(document, pointer)]


def _source_problems(d: Mapping[str, Any], pointer: str) -> Iterator[FieldProblem]:
    """A source, or another value, is stated for something that is there."""
    for named in d.get("figure_sources", {}):
        if not _is_there(d, named):
            yield FieldProblem(f"{pointer}/figure_sources", "names a figure that the entry does not have", named)
    for n, alternative in enumerate(d.get("alternatives", [])):
        figure = alternative["figure"]
        if not figure.startswith("/"):
            message = "must be the JSON pointer of a figure of the entry"
            yield FieldProblem(f"{pointer}/alternatives/{n}/figure", message, figure, suggestion=f"/{figure}")


def _is_there(d: Any, figure: str) -> bool:
    for step in figure.split("/")[1:]:
        if isinstance(d, Mapping) and step in d:
            d = d[step]
        elif isinstance(d, list) and step.isdecimal() and int(step) < len(d):
            d = d[int(step)]
        else:
            return False
    return figure.startswith("/")


def _link_problems(d: Mapping[str, Any], pointer: str) -> Iterator[FieldProblem]:
    """Both directions are twice one direction; all links are links times one link."""
    one_way = d.get("bandwidth_per_direction_bytes_per_second")
    both = d.get("bandwidth_bidirectional_bytes_per_second")
    per_link, links = d.get("bandwidth_per_link_per_direction_bytes_per_second"), d.get("links")
    if one_way and both and not _agree(both, 2 * one_way):
        yield FieldProblem(
            f"{pointer}/bandwidth_bidirectional_bytes_per_second",
            "must be twice the bandwidth per direction (which of the two was copied?)",
            both,
            suggestion=2 * one_way,
        )
    if one_way and per_link and links and not _agree(links * per_link, one_way):
        yield FieldProblem(
            f"{pointer}/bandwidth_per_direction_bytes_per_second",
            f"must be the {links} links times the bandwidth of one",
            one_way,
            suggestion=links * per_link,
        )


def _accelerator_problems(d: Mapping[str, Any], pointer: str) -> Iterator[FieldProblem]:
    if "scale_up" in d:
        yield from _link_problems(d["scale_up"], f"{pointer}/scale_up")
    peaks = d["dense_peaks_flops_per_second"]
    if not peaks:
        yield FieldProblem(f"{pointer}/dense_peaks_flops_per_second", "must state at least one number format", {})
    # Halving the format never slows the same units down (fp6 may run at either neighbour's rate).
    for wide, narrow in (("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4")):
        if wide in peaks and narrow in peaks and peaks[narrow] < peaks[wide] * (1 - _ROUNDING):
            yield FieldProblem(
                f"{pointer}/dense_peaks_flops_per_second/{narrow}",
                f"is below the {wide} peak: is that one with sparsity?",
                peaks[narrow],
                {"min": peaks[wide]},
            )
    usable, marketed = d.get("memory_usable_bytes"), d["memory_marketed_bytes"]
    if usable and not 0.85 <= usable / marketed <= 1.1:  # a label in GiB is 7 % more in bytes; ECC takes 1/16
        yield FieldProblem(
            f"{pointer}/memory_usable_bytes", "is far from the marketed size", usable, {"near": marketed}, marketed
        )


def _system_problems(d: Mapping[str, Any], pointer: str) -> Iterator[FieldProblem]:
    if isinstance(d.get("accelerator"), Mapping):
        yield from _accelerator_problems(d["accelerator"], f"{pointer}/accelerator")
    for part in ("scale_up", "scale_out"):
        yield from _part_problems(d.get(part, {}), f"{pointer}/{part}")
    gpus, per_node, nodes = d.get("gpus"), d.get("gpus_per_node"), d.get("nodes")
    if gpus and per_node and nodes and gpus != per_node * nodes:
        yield FieldProblem(f"{pointer}/gpus", f"must be {nodes} nodes of {per_node} GPUs", gpus, None, per_node * nodes)
    domain = d.get("scale_up", {}).get("domain_gpus")
    if domain and per_node and domain > per_node and domain % per_node:
        yield FieldProblem(
            f"{pointer}/scale_up/domain_gpus",
            f"must be whole nodes of {per_node} GPUs",
            domain,
            None,
            domain // per_node * per_node,
        )
    most = d.get("scale_out", {}).get("max_gpus")
    if most and per_node and most < per_node:
        yield FieldProblem(
            f"{pointer}/scale_out/max_gpus", f"must be at least a node's {per_node} GPUs", most, None, per_node
        )


def _part_problems(part: Mapping[str, Any], pointer: str) -> Iterator[FieldProblem]:
    yield from _link_problems(part, pointer)
    for key in ("network", "switch"):
        if isinstance(part.get(key), Mapping):
            yield from _link_problems(part[key], f"{pointer}/{key}")


def _agree(one: float, other: float) -> bool:
    return abs(one - other) <= _ROUNDING * other
