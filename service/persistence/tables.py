"""The tables; Alembic's target metadata. Change them together with a file in migrations/versions."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment, in UTC on either database: SQLite forgets the zone of what it keeps."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# Kept to the letter: JSONB would reorder keys and respell numbers of a document that is "never rewritten".
Document = JSON()
# Searched within.
Searchable = JSON().with_variant(JSONB(), "postgresql")
Id = Uuid(as_uuid=False)

scenarios = Table(
    "scenarios",
    metadata,
    Column("id", Id, primary_key=True),  # UUID 7: sorts by time, so the key also orders the list
    Column("name", Text, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("inputs", Document, nullable=False),
    Column("tags", Searchable, nullable=False),
    Column("tracked", Boolean, nullable=False),
    Column("notes", Text, nullable=False),
    Column("model", String(255)),  # ids that the inputs resolved to, for the filters
    Column("system", String(255)),
    Column("revision", Integer, nullable=False),
    Column("evaluation_count", Integer, nullable=False),  # also the number of the newest evaluation
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    *(Index(None, filtered, "id") for filtered in ("name", "model", "system")),
    # Few among many, asked for at every scrape.
    Index("ix_scenarios_tracked", "id", postgresql_where=text("tracked"), sqlite_where=text("tracked = 1")),
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("scenario_id", Id, ForeignKey("scenarios.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3 … within the scenario
    Column("id", Id, nullable=False),
    Column("engine_version", String(64), nullable=False),
    Column("catalog_revision", String(128), nullable=False),
    Column("estimate", Document, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    comment="Answers; rows are added and never updated.",
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("key_sha256", String(64), primary_key=True),
    Column("request_sha256", String(64), nullable=False),
    Column(  # checked at commit: the key is claimed before its scenario is written
        "scenario_id",
        Id,
        ForeignKey("scenarios.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED"),
        nullable=False,
        index=True,
    ),
    Column("created_at", UtcDateTime, nullable=False),
)

catalog_entries = Table(
    "catalog_entries",
    metadata,
    Column("kind", String(32), primary_key=True),
    Column("id", String(255), primary_key=True),
    Column("document", Document, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

catalog_revision = Table(
    "catalog_revision",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(255), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("scopes", Text, nullable=False),  # space-separated
    Column("created_at", UtcDateTime, nullable=False),
)
