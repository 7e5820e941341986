"""`stepcast db`, and how the other commands get at the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from service.cli.environment import read_settings
from service.errors import StepcastError
from service.persistence import migrations
from service.persistence.database import SqlDatabase, open_database
from service.settings import Settings


@contextmanager
def opened(settings: Settings) -> Iterator[SqlDatabase]:
    """Give the database; whatever is wrong with it ends the command with one line."""
    try:
        database = open_database(settings.database_url, sqlite_synchronous=settings.sqlite_synchronous)
        try:
            yield database
        finally:
            database.close()
    except StepcastError as refusal:
        raise click.ClickException(refusal.detail) from None
    except ValueError as why:
        raise click.ClickException(f"STEPCAST_DATABASE_URL: {why}") from None


@click.group(name="db")
def database() -> None:
    """The database that keeps scenarios, custom entries and tokens."""


@database.command()
def upgrade() -> None:
    """Bring the schema to this version; several may do so at once."""
    with opened(read_settings()) as kept:
        migrations.upgrade(kept.engine)
        _, standing = kept.ready()
    click.echo(standing)
