"""What the service needs kept, said as protocols: http asks through them, persistence answers.

Neither side sees the other; `service.app` puts them together in `Services`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from service.catalog.catalog import Catalog
from service.planning.scenarios import ScenarioStore
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class CustomEntry:
    """A catalogue entry that a caller added.

    Parameters
    ----------
    kind : str
        accelerators | networks | systems | models.
    document : Mapping[str, Any]
        Normalised SI document, with its `id`.
    revision : int
        Of this entry: 1 when added, one more with each change.
    """

    kind: str
    document: Mapping[str, Any]
    revision: int


class CatalogStore(Protocol):
    """Where custom catalogue entries are kept, for every worker and replica at once."""

    def revision(self) -> int:
        """Return a number that moves with every change to a custom entry. Cheap: asked on every request."""

    def entries(self) -> Sequence[CustomEntry]:
        """Return every custom entry, in the order they were added."""

    def add(self, kind: str, document: Mapping[str, Any]) -> CustomEntry:
        """Keep a validated entry, durable on return. Raises CatalogEntryConflict when its id is taken."""


class CatalogSource(Protocol):
    """The catalogue as it is now: shipped entries and custom ones."""

    def current(self) -> Catalog:
        """Return it, rebuilt only when a custom entry changed anywhere."""

    def latest(self) -> Catalog:
        """Return it as this process saw it last, which needs no database."""


class TokenStore(Protocol):
    """API tokens; kept as SHA-256, so that the database never holds a usable one."""

    def accepts(self, token: str) -> frozenset[str] | None:
        """Return the scopes of the token, or None when it is not one. Cheap: asked on every request."""

    def create(self, name: str, scopes: Sequence[str]) -> str:
        """Make a token and return it; it cannot be read again."""

    def any(self) -> bool:
        """Return whether there is a token at all; without one the service is open. Cheap as well."""


class Database(Protocol):
    """The database as the health endpoints see it."""

    def ready(self) -> tuple[bool, str]:
        """Return whether it is reachable with a current schema, and why not in a sentence."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a view may ask for; http finds it in ``current_app.extensions["stepcast"]``."""

    settings: Settings
    catalog: CatalogSource
    scenarios: ScenarioStore
    catalog_entries: CatalogStore
    tokens: TokenStore
    database: Database
