"""Rows of several tables, inserted by statements that are compiled once.

Core builds the statement anew for each row, which costs more than the row. The spelling of ids, times and JSON is still
SQLAlchemy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Dialect, Table, bindparam, insert

Row = Mapping[str, Any]
Values = tuple[Any, ...] | dict[str, Any]


class PreparedInserts:
    """Inserts one whole row into each of the tables.

    Postgres does so in one statement, hence one round trip, which is a transaction in itself.
    """

    def __init__(self, dialect: Dialect, *tables: Table) -> None:
        self._columns = [(f"{table.name}_{column.name}", column.name) for table in tables for column in table.columns]
        self._spell = [_speller(column.type, dialect) for table in tables for column in table.columns]
        self._row_of = [place for place, table in enumerate(tables) for _ in table.columns]
        compiled = [
            insert(table)
            .values(
                {column.name: bindparam(f"{table.name}_{column.name}", type_=column.type) for column in table.columns}
            )
            .compile(dialect=dialect)
            for table in tables
        ]
        statements = [str(statement) for statement in compiled]
        if dialect.name == "postgresql":
            *first, last = statements
            named = ", ".join(f"inserted_{place} AS ({statement})" for place, statement in enumerate(first))
            self._statements: list[tuple[str, list[str] | None]] = [(f"WITH {named} {last}", None)]
        else:
            positions = [statement.positiontup for statement in compiled]
            self._statements = list(zip(statements, positions, strict=True))

    def spelled(self, *rows: Row) -> list[Values]:
        """Return the rows as the driver takes them: work to be done before the transaction begins."""
        values = {
            parameter: rows[place][name] if spell is None else spell(rows[place][name])
            for (parameter, name), spell, place in zip(self._columns, self._spell, self._row_of, strict=True)
        }
        return [
            values if positions is None else tuple(values[parameter] for parameter in positions)
            for _, positions in self._statements
        ]

    def execute(self, connection: Connection, values: list[Values]) -> None:
        """Insert what `spelled` returned."""
        cursor = connection.connection.cursor()
        for (statement, _), parameters in zip(self._statements, values, strict=True):
            cursor.execute(statement, parameters)


def _speller(kind: Any, dialect: Dialect) -> Callable[[Any], Any] | None:
    spell: Callable[[Any], Any] | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return spell
