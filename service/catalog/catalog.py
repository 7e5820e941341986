"""The catalogue: frozen look-ups by name, built once per revision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from service.catalog.calibrations import Calibrations, load_calibrations
from service.catalog.derived import derived_from_model, derived_from_system
from service.catalog.documents import EntryKind, invalid_entry, load_document, shown
from service.catalog.entries import entry_problems
from service.catalog.expert_exchange import ExchangeCalibrations, load_exchange_calibrations
from service.catalog.hardware import NotAskable, References, accelerator_from_document, system_from_document
from service.catalog.kernel_calibrations import KernelCalibrations, load_kernel_calibrations
from service.catalog.models import model_from_document
from service.catalog.names import Names
from service.catalog.shelves import CatalogEntry, content_hash, entry_of, read_shelves, shipped_folders, short_hash
from service.catalog.training_calibrations import TrainingCalibrations, load_training_calibrations
from service.core.hardware import Accelerator, System
from service.core.transformer.architecture import Model
from service.errors import (
    CatalogEntryConflict,
    FieldProblem,
    InvalidCatalogEntry,
    StepcastError,
    UnknownCatalogEntry,
)

__all__ = ["Catalog", "CatalogEntry", "load_shipped_catalog", "validate_new_entry"]


@dataclass(frozen=True)
class Catalog:
    """Every entry of one revision. Look-ups take an id or an alias, ignoring case, or an inline object.

    Parameters
    ----------
    revision : str
        Short hash of every shipped file and every custom entry.
    calibrations : Calibrations
        Constants of collectives, fitted on published measurements.
    kernels : KernelCalibrations
        Constants of kernels, likewise.
    experts : ExchangeCalibrations
        Constants of expert dispatch and combine, likewise.
    training : TrainingCalibrations
        Constants of training, likewise.
    """

    revision: str
    shelves: Mapping[EntryKind, Mapping[str, CatalogEntry]]
    names: Mapping[EntryKind, Names]
    calibrations: Calibrations
    kernels: KernelCalibrations
    experts: ExchangeCalibrations
    training: TrainingCalibrations
    # Built when first asked for, and kept: shipped facts do not change under a revision.
    _built: dict[tuple[EntryKind, str], Any] = field(default_factory=dict, repr=False, compare=False)
    _shown: dict[tuple[EntryKind, str], CatalogEntry] = field(default_factory=dict, repr=False, compare=False)

    def entry(self, kind: EntryKind | str, name: str, pointer: str = "") -> CatalogEntry:
        """Return an entry by id or alias; UnknownCatalogEntry or AmbiguousAlias if there is not exactly one."""
        return self._described(self._find(EntryKind(kind), name, pointer))

    def entries(self, kind: EntryKind | str) -> Sequence[CatalogEntry]:
        """Return all entries of a kind, by id."""
        return [self._described(entry) for _, entry in sorted(self.shelves[EntryKind(kind)].items())]

    def system(self, name: str | Mapping[str, Any], pointer: str = "/system") -> System:
        """Return the system that a name or an inline object means.

        Raises
        ------
        UnknownCatalogEntry, AmbiguousAlias
            If the name means none, or several.
        InvalidCatalogEntry
            If the object does not hold together, or the entry lacks what an estimate needs.
        """
        system: System = self._resolve(EntryKind.SYSTEMS, name, pointer)
        return system

    def accelerator(self, name: str | Mapping[str, Any], pointer: str = "/accelerator") -> Accelerator:
        """Return the accelerator that a name or an inline object means; raises as `system` does."""
        accelerator: Accelerator = self._resolve(EntryKind.ACCELERATORS, name, pointer)
        return accelerator

    def model(self, name: str | Mapping[str, Any], pointer: str = "/model") -> Model:
        """Return the model that a name or an inline object means; raises as `system` does."""
        model: Model = self._resolve(EntryKind.MODELS, name, pointer)
        return model

    def with_custom(self, documents: Iterable[tuple[EntryKind | str, Mapping[str, Any], int]]) -> Catalog:
        """Return a catalogue that has these custom entries as well, given as (kind, document, revision)."""
        digest = hashlib.sha256(self.revision.encode())
        shelves = {kind: dict(shelf) for kind, shelf in self.shelves.items()}
        for kind_name, document, revision in documents:
            kind = EntryKind(kind_name)
            entry = entry_of(kind, document, "custom", revision)
            shelves[kind][entry.id] = entry
            digest.update(json.dumps([kind, revision, document], sort_keys=True).encode())
        return Catalog(
            short_hash(digest), shelves, _names(shelves), self.calibrations, self.kernels, self.experts, self.training
        )

    def _resolve(self, kind: EntryKind, name: object, pointer: str) -> Any:
        if isinstance(name, Mapping):
            return self.build(kind, self.checked(kind, name, pointer), pointer)
        if not isinstance(name, str):
            problem = FieldProblem(pointer, "must be an id, an alias, or an object describing one", shown(name))
            raise invalid_entry(kind, [problem])
        entry = self._find(kind, name, pointer)
        key = (kind, entry.id)
        if key not in self._built:
            # Kept by an older version, perhaps, or what it names is gone: a custom entry is checked again.
            document = self.checked(kind, entry.document, pointer) if entry.origin == "custom" else entry.document
            self._built[key] = self.build(kind, document, pointer)
        return self._built[key]

    def checked(
        self, kind: EntryKind, document: object, pointer: str = "", *, needs_id: bool = False
    ) -> dict[str, Any]:
        """Return an inline or custom document normalised, or raise InvalidCatalogEntry with every problem."""
        problems = entry_problems(kind, document, pointer)
        if isinstance(document, Mapping):
            problems += self.reference_problems(document, pointer)
            if needs_id and "id" not in document:
                problems.append(FieldProblem(f"{pointer}/id", "is required: what the entry will be called"))
        if problems:
            raise invalid_entry(kind, problems)
        return load_document(kind, document, pointer)

    def build(self, kind: EntryKind, document: Mapping[str, Any], pointer: str = "") -> Any:
        """Return the core's own type for a checked document; a network has none and stays a document."""
        try:
            if kind is EntryKind.NETWORKS:
                return document
            if kind is EntryKind.MODELS:
                return model_from_document(document)
            if kind is EntryKind.ACCELERATORS:
                return accelerator_from_document(document, self._lookup(EntryKind.NETWORKS), pointer)
            references = References(self._lookup(EntryKind.ACCELERATORS), self._lookup(EntryKind.NETWORKS))
            return system_from_document(document, references, pointer)
        except NotAskable as why:
            raise InvalidCatalogEntry(f"{document.get('id', 'the entry')}: {why}", [why.problem]) from why

    def _lookup(self, kind: EntryKind) -> Any:
        def look_up(reference: Any, pointer: str) -> Mapping[str, Any]:
            return reference if isinstance(reference, Mapping) else self._find(kind, reference, pointer).document

        return look_up

    def _find(self, kind: EntryKind, name: str, pointer: str) -> CatalogEntry:
        return self.shelves[kind][self.names[kind].resolve(name, pointer)]

    def _described(self, entry: CatalogEntry) -> CatalogEntry:
        """Return the entry with what follows from it: a model's parameters, whether a system can be asked about."""
        key = (entry.kind, entry.id)
        if key not in self._shown:
            derived = self._derived(entry)
            self._shown[key] = replace(entry, document={**entry.document, "derived": derived}) if derived else entry
        return self._shown[key]

    def _derived(self, entry: CatalogEntry) -> dict[str, Any]:
        if entry.kind not in (EntryKind.SYSTEMS, EntryKind.MODELS):
            return {}
        try:
            built = self._resolve(entry.kind, entry.id, "")
        except StepcastError as why:
            return {"askable": False, "why_not": why.detail}
        return derived_from_model(built) if entry.kind is EntryKind.MODELS else derived_from_system(built)

    def reference_problems(self, document: Mapping[str, Any], pointer: str = "", depth: int = 0) -> list[FieldProblem]:
        """Return the references that mean no entry, or several."""
        problems: list[FieldProblem] = []
        for key, value in document.items():
            kind = _REFERENCE_KINDS.get(key)
            if isinstance(value, Mapping) and key in _HOLDERS and depth < _DEEPEST:
                problems += self.reference_problems(value, f"{pointer}/{key}", depth + 1)
            elif kind is not None and isinstance(value, str) and value:
                try:
                    self.names[kind].resolve(value, f"{pointer}/{key}")
                except UnknownCatalogEntry as why:
                    problems += why.problems
        return problems


# The keys that name another entry, wherever they stand.
_REFERENCE_KINDS = {
    "accelerator": EntryKind.ACCELERATORS,
    "network": EntryKind.NETWORKS,
    "switch": EntryKind.NETWORKS,
}

# The keys whose objects may hold such keys, and how deep they can stand: system, accelerator, its links.
_HOLDERS = {"accelerator", "scale_up", "scale_out", "host_link", "chip_to_chip"}
_DEEPEST = 3


def load_shipped_catalog() -> Catalog:
    """Load every shipped file.

    Raises
    ------
    CatalogDefect
        For the first thing wrong with a file; `stepcast catalog check` lists them all.
    """
    folders = shipped_folders()
    shelves, defects = read_shelves(folders)
    if defects:
        raise defects[0]
    calibrations = load_calibrations(folders["hardware_catalog"] / "calibrations")
    return catalog_of(folders, shelves, calibrations)


def catalog_of(
    folders: Mapping[str, Path], shelves: Mapping[EntryKind, Mapping[str, CatalogEntry]], calibrations: Calibrations
) -> Catalog:
    """Return the catalogue of what was read from the folders."""
    kernels = load_kernel_calibrations(folders["hardware_catalog"] / "calibrations")
    experts = load_exchange_calibrations(folders["hardware_catalog"] / "calibrations")
    training = load_training_calibrations(folders["hardware_catalog"] / "calibrations")
    return Catalog(content_hash(folders), shelves, _names(shelves), calibrations, kernels, experts, training)


def validate_new_entry(kind: EntryKind | str, document: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Return the document of a new custom entry, normalised.

    Raises
    ------
    InvalidCatalogEntry
        With every problem found.
    CatalogEntryConflict
        If the id or an alias is taken, by a shipped entry or by a custom one.
    """
    shelf = EntryKind(kind)
    normalised = catalog.checked(shelf, document, needs_id=True)
    _refuse_taken_names(shelf, normalised, catalog)
    catalog.build(shelf, normalised)  # an entry that could not be asked about is refused now, not later
    return normalised


def _refuse_taken_names(kind: EntryKind, document: Mapping[str, Any], catalog: Catalog) -> None:
    taken = []
    named = [("/id", document["id"]), *((f"/aliases/{n}", a) for n, a in enumerate(document.get("aliases", [])))]
    for pointer, name in named:
        for holder in catalog.names[kind].holders(name):
            owner = catalog.shelves[kind][holder]
            hint = (
                "shipped entries are read-only: copy it under another id"
                if owner.origin == "shipped"
                else "it is taken"
            )
            taken.append(FieldProblem(pointer, f"{name!r} means {holder!r} already; {hint}", name))
    if taken:
        raise CatalogEntryConflict("; ".join(problem.message for problem in taken), taken)


def _names(shelves: Mapping[EntryKind, Mapping[str, CatalogEntry]]) -> dict[EntryKind, Names]:
    return {
        kind: Names.of(kind, ((entry.id, entry.aliases) for entry in shelf.values())) for kind, shelf in shelves.items()
    }
