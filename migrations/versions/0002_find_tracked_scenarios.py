"""Find the tracked scenarios, few among many, without reading the rest: every scrape of /metrics asks for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_scenarios_tracked",
        "scenarios",
        ["id"],
        postgresql_where=sa.text("tracked"),
        sqlite_where=sa.text("tracked = 1"),
    )


def downgrade() -> None:
    op.drop_index("ix_scenarios_tracked", "scenarios")
