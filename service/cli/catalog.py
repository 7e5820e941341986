"""`stepcast catalog`."""

from __future__ import annotations

import click


@click.group()
def catalog() -> None:
    """The catalogue that is shipped."""


@catalog.command()
def check() -> None:
    """List everything wrong with the catalogue's files; exit with 1 if there is anything."""
    from service.catalog.check import check_catalog  # here: reading YAML is not every command's business

    defects = check_catalog()
    for defect in defects:
        click.echo(str(defect), err=True)
    click.echo(f"{len(defects)} defects" if defects else "no defect")
    if defects:
        raise SystemExit(1)
