"""Shapes come from the shipped model files."""

from __future__ import annotations

import pytest

from service.catalog.catalog import Catalog, load_shipped_catalog


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_shipped_catalog()
