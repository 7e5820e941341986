"""Keep scenarios with their evaluations, custom catalogue entries and API tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_scenarios()
    _create_catalogue()
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
        sa.UniqueConstraint("sha256", name="uq_api_tokens_sha256"),
    )


def _create_scenarios() -> None:
    op.create_table(
        "scenarios",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("inputs", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("tracked", sa.Boolean(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("model", sa.String(255)),
        sa.Column("system", sa.String(255)),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("evaluation_count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scenarios"),
    )
    op.create_index("ix_scenarios_name_id", "scenarios", ["name", "id"])
    op.create_index("ix_scenarios_model_id", "scenarios", ["model", "id"])
    op.create_index("ix_scenarios_system_id", "scenarios", ["system", "id"])
    op.create_table(
        "evaluations",
        sa.Column("scenario_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("engine_version", sa.String(64), nullable=False),
        sa.Column("catalog_revision", sa.String(128), nullable=False),
        sa.Column("estimate", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scenario_id", "number", name="pk_evaluations"),
        sa.ForeignKeyConstraint(
            ["scenario_id"], ["scenarios.id"], name="fk_evaluations_scenario_id_scenarios", ondelete="CASCADE"
        ),
        comment="Answers; rows are added and never updated.",
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("key_sha256", sa.String(64), nullable=False),
        sa.Column("request_sha256", sa.String(64), nullable=False),
        sa.Column("scenario_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key_sha256", name="pk_idempotency_keys"),
        sa.ForeignKeyConstraint(
            ["scenario_id"],
            ["scenarios.id"],
            name="fk_idempotency_keys_scenario_id_scenarios",
            ondelete="CASCADE",
            deferrable=True,
            initially="DEFERRED",
        ),
    )
    op.create_index("ix_idempotency_keys_scenario_id", "idempotency_keys", ["scenario_id"])


def _create_catalogue() -> None:
    op.create_table(
        "catalog_entries",
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kind", "id", name="pk_catalog_entries"),
    )
    revisions = op.create_table(
        "catalog_revision",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_catalog_revision"),
        sa.CheckConstraint("id = 1", name=op.f("ck_catalog_revision_one_row")),
    )
    op.bulk_insert(revisions, [{"id": 1, "revision": 0}])


def downgrade() -> None:
    for table in (
        "idempotency_keys",
        "evaluations",
        "scenarios",
        "catalog_revision",
        "catalog_entries",
        "api_tokens",
    ):
        op.drop_table(table)
