"""The shelves of the catalogue: entries by kind and id, read from the shipped files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from service.catalog.documents import EntryKind
from service.catalog.yaml_files import read_entry_file
from service.errors import CatalogDefect
from service.shipped import shipped_path

_REVISION_LENGTH = 16

FOLDERS = {
    EntryKind.ACCELERATORS: ("hardware_catalog", "accelerators"),
    EntryKind.NETWORKS: ("hardware_catalog", "networks"),
    EntryKind.SYSTEMS: ("hardware_catalog", "systems"),
    EntryKind.MODELS: ("model_catalog", ""),
}


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One entry as the API gives it out.

    Parameters
    ----------
    document : Mapping[str, Any]
        SI figures, the unit in each key, and where each comes from.
    revision : int
        1 for a shipped entry; a custom one counts its changes.
    """

    kind: EntryKind
    id: str
    name: str
    aliases: tuple[str, ...]
    document: Mapping[str, Any]
    origin: Literal["shipped", "custom"]
    revision: int


def shipped_folders() -> dict[str, Path]:
    """Return the folders of shipped entries by name."""
    return {name: shipped_path(name) for name in ("hardware_catalog", "model_catalog")}


def read_shelves(folders: Mapping[str, Path]) -> tuple[dict[EntryKind, dict[str, CatalogEntry]], list[CatalogDefect]]:
    """Read every file of the folders; return the entries that hold together, and all that is wrong with the others."""
    shelves: dict[EntryKind, dict[str, CatalogEntry]] = {kind: {} for kind in EntryKind}
    defects: list[CatalogDefect] = []
    for kind, (name, folder) in FOLDERS.items():
        for path in sorted((folders[name] / folder).glob("*.yaml")):
            document, wrong = read_entry_file(kind, path, folders[name].parent)
            defects += wrong
            if document is not None:
                shelves[kind][path.stem] = entry_of(kind, document, "shipped", 1)
    return shelves, defects


def entry_of(
    kind: EntryKind, document: Mapping[str, Any], origin: Literal["shipped", "custom"], revision: int
) -> CatalogEntry:
    """Return the entry that a checked document is."""
    entry_id = document["id"]
    return CatalogEntry(
        kind, entry_id, document.get("name", entry_id), tuple(document.get("aliases", ())), document, origin, revision
    )


def content_hash(folders: Mapping[str, Path]) -> str:
    """Return a short hash of every shipped file's name and bytes, calibrations included."""
    digest = hashlib.sha256()
    for name, root in folders.items():
        for path in sorted(root.rglob("*.yaml")):
            digest.update(f"{name}/{path.relative_to(root).as_posix()}\0".encode())
            digest.update(path.read_bytes() + b"\0")
    return short_hash(digest)


def short_hash(digest: hashlib._Hash) -> str:
    """Return as much of a hash as tells revisions apart."""
    return digest.hexdigest()[:_REVISION_LENGTH]
