"""Which entry a name means: an id, or an alias that an entry lists. Case is ignored; nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from service.catalog.documents import EntryKind, nearest, shown
from service.errors import AmbiguousAlias, FieldProblem, UnknownCatalogEntry

_MAX_NAME = 300


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one kind.

    Parameters
    ----------
    ids : Mapping[str, str]
        Folded id -> id.
    aliases : Mapping[str, tuple[str, ...]]
        Folded alias -> ids of the entries that list it.
    """

    kind: EntryKind
    ids: Mapping[str, str]
    aliases: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, kind: EntryKind, entries: Iterable[tuple[str, Sequence[str]]]) -> Names:
        """Collect the names of entries given as (id, aliases)."""
        ids: dict[str, str] = {}
        aliases: dict[str, tuple[str, ...]] = {}
        for entry_id, listed in entries:
            ids[entry_id.lower()] = entry_id
            for alias in listed:
                aliases[alias.lower()] = (*aliases.get(alias.lower(), ()), entry_id)
        return cls(kind, ids, aliases)

    def holders(self, name: str) -> tuple[str, ...]:
        """Return the ids of the entries that the name means: none, one, or several. An id beats an alias."""
        folded = name.strip().lower() if len(name) <= _MAX_NAME else ""
        return (self.ids[folded],) if folded in self.ids else self.aliases.get(folded, ())

    def resolve(self, name: str, pointer: str) -> str:
        """Return the one id that the name means.

        Raises
        ------
        UnknownCatalogEntry
            If no entry answers to it; the nearest name is suggested.
        AmbiguousAlias
            If several entries list it; they are the allowed values.
        """
        holders = self.holders(name)
        if len(holders) == 1:
            return holders[0]
        given = shown(name)
        if holders:
            message = f"{given!r} could be any of {', '.join(holders)}"
            raise AmbiguousAlias(message, [FieldProblem(pointer, message, given, list(holders))])
        close = nearest(name, [*self.ids.values(), *self.aliases])
        suggestion = self.holders(close)[0] if close else None
        message = f"{given!r} is none of the {self.kind}" + (f"; did you mean {suggestion!r}?" if suggestion else "")
        problem = FieldProblem(pointer, message, given, sorted(self.ids.values()), suggestion)
        raise UnknownCatalogEntry(message, [problem])
