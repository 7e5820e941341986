"""Everything that can be wrong with the shipped files, at once: `stepcast catalog check`.

Loading checks each file by itself. This goes on to what files say of each other, and to what no schema can see: whether
a count of parameters is the published one, whether a figure has a source, whether a system can be asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from service.catalog.calibrations import load_calibrations
from service.catalog.catalog import Catalog, catalog_of
from service.catalog.documents import EntryKind
from service.catalog.shelves import FOLDERS, CatalogEntry, read_shelves, shipped_folders
from service.core.transformer.parameters import (
    active_parameters,
    active_parameters_without_input_embedding,
    total_parameters,
)
from service.errors import CatalogDefect, StepcastError

PUBLISHED_TOLERANCE_RATIO = 0.005
_RATE_TOLERANCE_RATIO = 0.001


def check_catalog(folders: Mapping[str, Path] | None = None) -> list[CatalogDefect]:
    """Return all defects of the shipped files, or of other folders of the same names.

    Parameters
    ----------
    folders : Mapping[str, Path] or None
        ``hardware_catalog`` and ``model_catalog``; None means those that are shipped.
    """
    folders = folders or shipped_folders()
    shelves, defects = read_shelves(folders)
    try:
        calibrations = load_calibrations(folders["hardware_catalog"] / "calibrations")
    except CatalogDefect as why:
        return [*defects, why]
    catalog = catalog_of(folders, shelves, calibrations)
    for kind in EntryKind:
        for entry in shelves[kind].values():
            where = "/".join(part for part in (*FOLDERS[kind], f"{entry.id}.yaml") if part)
            defects += [CatalogDefect(where, key, why) for key, why in _entry_defects(entry, catalog)]
    return defects


def _entry_defects(entry: CatalogEntry, catalog: Catalog) -> Iterator[tuple[str, str]]:
    yield from _name_defects(entry, catalog)
    yield from _source_defects(entry.document)
    problems = catalog.reference_problems(entry.document)
    yield from ((problem.pointer, problem.message) for problem in problems)
    if problems:
        return
    try:
        built = catalog.build(entry.kind, entry.document)
    except StepcastError as why:
        if entry.kind is not EntryKind.SYSTEMS or "accelerator" in entry.document:
            yield why.problems[0].pointer, why.problems[0].message
        return
    if entry.kind is EntryKind.MODELS:
        yield from _count_defects(entry.document, built.architecture)
    if entry.kind is EntryKind.SYSTEMS:
        yield from _system_defects(entry.document, catalog)


def _name_defects(entry: CatalogEntry, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """An alias may mean several entries (that is answered with the candidates), but never hide behind an id."""
    folded = [alias.lower() for alias in entry.aliases]
    for alias in entry.aliases:
        if alias.lower() in catalog.names[entry.kind].ids:
            yield "aliases", f"{alias!r} is an id already"
        if folded.count(alias.lower()) > 1:
            yield "aliases", f"{alias!r} is there twice"


def _source_defects(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not document["sources"]:
        yield "sources", "a shipped entry names at least one source"
    for source in document["sources"]:
        if "dated" not in source:
            yield "sources", f"{source['url']} has no date"


def _count_defects(document: Mapping[str, Any], architecture: Any) -> Iterator[tuple[str, str]]:
    """The shape reproduces the published counts, or the file says why the published one is only a label."""
    active = (
        active_parameters_without_input_embedding(architecture)
        if document.get("active_excludes_embedding")
        else active_parameters(architecture)
    )
    for key, reason, computed in (
        ("parameters_published", "published_is_label", total_parameters(architecture)),
        ("active_parameters_published", "active_published_is_label", active),
    ):
        published = document.get(key)
        if published is None:
            continue
        off = computed / published - 1
        if abs(off) > PUBLISHED_TOLERANCE_RATIO and reason not in document:
            yield key, f"the shape has {computed:,}, {off:+.2%}: state the reason in {reason}"
        if abs(off) <= PUBLISHED_TOLERANCE_RATIO and reason in document:
            yield reason, f"the shape reproduces the published count ({off:+.2%}): nothing to excuse"


def _system_defects(document: Mapping[str, Any], catalog: Catalog) -> Iterator[tuple[str, str]]:
    out = document.get("scale_out")
    if out is None:
        return
    if ("max_gpus" in out) != ("max_gpus_reason" in out):
        yield "scale_out/max_gpus", "a figure and its reason go together"
    network = catalog.entry(EntryKind.NETWORKS, out["network"]).document
    stated = out.get("bandwidth_per_gpu_bytes_per_second")
    own = network.get("bandwidth_per_gpu_per_direction_bytes_per_second")
    if own is None and "bandwidth_per_direction_bytes_per_second" in network:
        own = network["bandwidth_per_direction_bytes_per_second"] * out.get("nics_per_gpu", 1)
    if stated and own and abs(stated - own) > _RATE_TOLERANCE_RATIO * own:
        yield "scale_out/bandwidth_per_gpu", f"is {stated:g} B/s, the network {network['id']} makes it {own:g}"
