"""How Alembic reaches the database: on the connection that `service.persistence.migrations` hands over.

For `alembic revision --autogenerate` there is none, and STEPCAST_DATABASE_URL says which database to compare with.
"""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import Connection

from service.persistence.database import open_database
from service.persistence.tables import UtcDateTime, metadata
from service.settings import Settings


def plain_type(kind: str, thing: Any, context: AutogenContext) -> str | Literal[False]:
    """Spell our own types as what they are in the database: a migration must not change when the code does."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(thing, UtcDateTime) else False


def run(connection: Connection) -> None:
    """Run the migrations asked for on `connection`, within its transaction if it has one."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        render_item=plain_type,
        transactional_ddl=True,  # SQLite's too: its connections begin by hand
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with open_database(Settings.from_environ().database_url).writing() as opened:
        run(opened)
