"""CatalogSource: the shipped catalogue with the custom entries in it, never older than the database."""

from __future__ import annotations

from threading import Lock

from service.catalog.catalog import Catalog
from service.planning.stores import CatalogStore


class MergedCatalogSource:
    """Asks for the revision each time, and merges only when it moved."""

    def __init__(self, shipped: Catalog, store: CatalogStore) -> None:
        self._shipped = shipped
        self._store = store
        self._lock = Lock()
        self._merged: tuple[int, Catalog] = (0, shipped)  # replaced whole, so that readers need no lock

    def current(self) -> Catalog:
        """Return the catalogue as it is now."""
        merged_at, catalog = self._merged
        return catalog if merged_at == self._store.revision() else self._merge()

    def latest(self) -> Catalog:
        """Return the catalogue as this process saw it last, without asking the database."""
        return self._merged[1]

    def _merge(self) -> Catalog:
        with self._lock:
            # Asked before the entries are read: if more are added in between, the next call merges again.
            revision = self._store.revision()
            merged_at, catalog = self._merged
            if merged_at != revision:  # nobody merged it while we waited
                custom = [(entry.kind, entry.document, entry.revision) for entry in self._store.entries()]
                catalog = self._shipped.with_custom(custom)
                self._merged = (revision, catalog)
            return catalog
