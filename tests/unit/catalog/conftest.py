"""The shipped catalogue, loaded once, and a folder of files that a test may spoil."""

import shutil
from pathlib import Path

import pytest

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.catalog.shelves import shipped_folders


@pytest.fixture(scope="session")
def shipped() -> Catalog:
    return load_shipped_catalog()


@pytest.fixture
def copied(tmp_path: Path) -> dict[str, Path]:
    """A copy of every shipped file."""
    return {name: Path(shutil.copytree(folder, tmp_path / name)) for name, folder in shipped_folders().items()}
