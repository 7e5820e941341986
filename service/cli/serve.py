"""`stepcast serve`: brings the database up to date, then runs gunicorn."""

from __future__ import annotations

import click

from service.cli.database import opened
from service.cli.environment import read_settings
from service.persistence import migrations
from service.persistence.token_store import SqlTokenStore
from service.planning.stores import TokenStore
from service.settings import VARIABLES, Settings, Variable


class _ListsVariables(click.Command):
    """A command whose help lists every environment variable."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Environment"):
            formatter.write_dl([(variable.name, _explained(variable)) for variable in VARIABLES])


def _explained(variable: Variable) -> str:
    default = "computed" if callable(variable.default) else variable.default
    default = {"STEPCAST_DATABASE_URL": "a file", "STEPCAST_WORKERS": "cores"}.get(variable.name, default)
    return f"{variable.help} [{default or 'none'}]"


@click.command(cls=_ListsVariables)
@click.option("--host", help="Address to listen on; STEPCAST_HOST.")
@click.option("--port", help="Port to listen on; STEPCAST_PORT.")
@click.option("--workers", help="Worker processes; STEPCAST_WORKERS.")
@click.option("--no-upgrade", is_flag=True, help="Leave the database's schema to `stepcast db upgrade`.")
def serve(host: str | None, port: str | None, workers: str | None, no_upgrade: bool) -> None:
    """Serve the API with gunicorn."""
    settings = read_settings({"STEPCAST_HOST": host, "STEPCAST_PORT": port, "STEPCAST_WORKERS": workers})
    with opened(settings) as database:
        if not no_upgrade:
            migrations.upgrade(database.engine)
        refuse_to_be_open(settings, SqlTokenStore(database))
    from service.cli.server import Server  # here: metrics are set up by the environment before they are imported

    Server(settings).run()


def refuse_to_be_open(settings: Settings, tokens: TokenStore) -> None:
    """Refuse to let everyone in by accident."""
    if settings.on_loopback or settings.allow_open or settings.api_tokens or tokens.any():
        return
    raise click.ClickException(
        f"{settings.host} can be reached from other machines and there is no token. Set STEPCAST_API_TOKENS, or make "
        "one with `stepcast token create --name NAME`, or set STEPCAST_ALLOW_OPEN=1 to let everyone in."
    )
