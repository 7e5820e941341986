"""The `stepcast` command."""

from __future__ import annotations

import click

from service import __version__
from service.cli.accuracy import accuracy
from service.cli.catalog import catalog
from service.cli.database import database
from service.cli.serve import serve
from service.cli.tokens import token


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stepcast")
def main() -> None:
    """Capacity planning for AI clusters, as a REST service."""


for command in (serve, database, catalog, accuracy, token):
    main.add_command(command)
