"""`stepcast token`."""

from __future__ import annotations

import click

from service.cli.database import opened
from service.cli.environment import read_settings
from service.persistence import migrations
from service.persistence.token_store import SqlTokenStore
from service.settings import ALL_SCOPES


@click.group()
def token() -> None:
    """Bearer tokens of the API."""


@token.command()
@click.option("--name", required=True, help="Whose it is, for people.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(sorted(ALL_SCOPES)),
    help="What it may do: read to ask, write to keep. May be repeated; both unless given.",
)
def create(name: str, scopes: tuple[str, ...]) -> None:
    """Make a token and print it, this once: only its SHA-256 is kept."""
    with opened(read_settings()) as database:
        migrations.upgrade(database.engine)  # the first token may well come before the first start
        click.echo(SqlTokenStore(database).create(name, scopes or sorted(ALL_SCOPES)))
