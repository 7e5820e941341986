"""Settings for commands: a bad variable ends them with one line."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from service.settings import InvalidSetting, Settings


def read_settings(overrides: Mapping[str, object] | None = None) -> Settings:
    """Return the settings; an option of the command wins over its variable."""
    given = {name: str(value) for name, value in (overrides or {}).items() if value is not None}
    try:
        return Settings.from_environ({**os.environ, **given})
    except InvalidSetting as why:
        raise click.ClickException(str(why)) from None
