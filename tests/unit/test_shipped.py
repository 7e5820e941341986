from pathlib import Path

import pytest

from service import shipped
from service.shipped import FOLDERS, shipped_path


@pytest.mark.parametrize("name", FOLDERS)
def test_a_checkout_has_them_at_its_root(name: str) -> None:
    assert shipped_path(name) == Path(__file__).parents[2] / name


def test_an_installed_package_has_them_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "service" / "_shipped" / "migrations"
    inside.mkdir(parents=True)
    (tmp_path / "migrations").mkdir()
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path / "service")
    assert shipped_path("migrations") == inside


def test_a_folder_that_is_nowhere_is_an_incomplete_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path / "service")
    with pytest.raises(FileNotFoundError, match="incomplete"):
        shipped_path("model_catalog")


def test_other_folders_are_not_shipped() -> None:
    with pytest.raises(FileNotFoundError, match="hardware_catalog, model_catalog, migrations"):
        shipped_path("tests")
