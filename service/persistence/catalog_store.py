"""CatalogStore: custom catalogue entries, and the revision that moves with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from service.errors import CatalogEntryConflict, FieldProblem
from service.persistence.database import SqlDatabase
from service.persistence.hot_reads import HotStatement
from service.persistence.tables import catalog_entries, catalog_revision
from service.planning.stores import CustomEntry

_REVISION = HotStatement("catalog_revision", "SELECT revision FROM catalog_revision WHERE id = 1")


class SqlCatalogStore:
    """Keeps custom entries in a database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    def revision(self) -> int:
        """Return a number that moves with every change to a custom entry, in any process."""
        return int(self._database.hot.value(_REVISION) or 0)

    def entries(self) -> Sequence[CustomEntry]:
        """Return every custom entry, in the order they were added."""
        columns = (catalog_entries.c.kind, catalog_entries.c.document, catalog_entries.c.revision)
        query = select(*columns).order_by(catalog_entries.c.created_at, catalog_entries.c.kind, catalog_entries.c.id)
        with self._database.reading() as connection:
            return [CustomEntry(*row) for row in connection.execute(query)]

    def add(self, kind: str, document: Mapping[str, Any]) -> CustomEntry:
        """Keep a validated entry, durable on return.

        Raises
        ------
        CatalogEntryConflict
            When its id is taken.
        """
        try:
            with self._database.writing() as connection:
                # First, for it makes writers queue: revisions are committed in their order.
                connection.execute(update(catalog_revision).values(revision=catalog_revision.c.revision + 1))
                now = datetime.now(UTC)
                row = {"kind": kind, "id": document["id"], "document": document, "revision": 1}
                connection.execute(insert(catalog_entries), row | {"created_at": now, "updated_at": now})
        except IntegrityError as error:
            taken = FieldProblem("/id", "is taken", document["id"])
            raise CatalogEntryConflict(f"There is already an entry {document['id']!r} in {kind}.", [taken]) from error
        return CustomEntry(kind, document, 1)
