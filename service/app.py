"""The composition root: the only file that knows every floor."""

from __future__ import annotations

from dataclasses import replace

from flask import Flask

from service.catalog.calibrations import load_calibrations
from service.catalog.catalog import Catalog, load_shipped_catalog
from service.http.api import build
from service.http.metrics import show_connections
from service.persistence.catalog_source import MergedCatalogSource
from service.persistence.catalog_store import SqlCatalogStore
from service.persistence.database import open_database
from service.persistence.scenario_store import SqlScenarioStore
from service.persistence.token_store import SqlTokenStore
from service.planning.stores import Services
from service.settings import Settings
from service.shipped import shipped_path


def create_app(settings: Settings) -> Flask:
    """Return the application: catalogue loaded, database named (not yet connected), endpoints registered.

    Raises
    ------
    CatalogDefect
        If a shipped file is wrong.
    ValueError
        If the database's URL is of no kind that is supported.
    """
    database = open_database(
        settings.database_url, sqlite_synchronous=settings.sqlite_synchronous, threads=settings.threads
    )
    database.report_connections(show_connections)
    catalog_entries = SqlCatalogStore(database)
    return build(
        Services(
            settings=settings,
            catalog=MergedCatalogSource(load_catalog(), catalog_entries),
            scenarios=SqlScenarioStore(database),
            catalog_entries=catalog_entries,
            tokens=SqlTokenStore(database),
            database=database,
        )
    )


def load_catalog() -> Catalog:
    """Return what is shipped: datasheets, and the calibrations that were fitted to measurements."""
    calibrations = load_calibrations(shipped_path("hardware_catalog") / "calibrations")
    return replace(load_shipped_catalog(), calibrations=calibrations)
