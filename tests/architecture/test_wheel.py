"""What is installed is whole: the wheel works where there is no checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT


class Installation:
    """The wheel in an environment of its own, which borrows our dependencies but cannot see the checkout."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        environment = folder / "environment"
        _run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=folder)
        self._bin = environment / "bin"
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self._bin / "python")
        _run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
        self.site_packages = next(environment.glob("lib/python*/site-packages"))
        # A .pth makes the folder searched without reading the .pth files in it, such as that of our editable install.
        borrowed = self.site_packages / "borrowed.pth"
        borrowed.write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        self.empty = folder / "empty"
        self.empty.mkdir()

    def python(self, code: str) -> str:
        return _run(self._bin / "python", "-c", code, cwd=self.empty)

    def stepcast(self, *arguments: str, **variables: str) -> str:
        return _run(self._bin / "stepcast", *arguments, cwd=self.empty, **variables)


def _run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_", "STEPCAST_", "VIRTUAL_ENV"))}
    done = subprocess.run(
        command, cwd=cwd, env=environ | variables, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(name="installed", scope="module")
def _installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    return Installation(tmp_path_factory.mktemp("installed"), wheel)


def test_the_wheel_holds_the_service_what_it_ships_and_its_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    metadata = next(top for top in tops if top.endswith(".dist-info"))
    assert tops == {"service", metadata}
    assert {f"{metadata}/licenses/LICENSE", f"{metadata}/licenses/NOTICE"} <= set(names)
    fields = zipfile.ZipFile(wheel).read(f"{metadata}/METADATA").decode().splitlines()
    assert {"License-Expression: Apache-2.0", "License-File: LICENSE", "License-File: NOTICE"} <= set(fields)
    for folder in ("hardware_catalog", "model_catalog", "migrations"):
        shipped = {f"service/_shipped/{p.relative_to(ROOT)}" for p in (ROOT / folder).rglob("*") if _is_shipped(p)}
        assert shipped == {name for name in names if name.startswith(f"service/_shipped/{folder}/")}


def _is_shipped(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def test_shipped_folders_are_found_inside_the_package(installed: Installation) -> None:
    code = """
import json, importlib.util, service
from service.shipped import FOLDERS, shipped_path
print(json.dumps([importlib.util.find_spec("tests") is None, service.__file__, *map(str, map(shipped_path, FOLDERS))]))
"""
    alone, *paths = json.loads(installed.python(code))
    assert alone, "the checkout can be imported: this shows nothing"
    assert len(paths) == 5
    assert all(Path(path).is_relative_to(installed.site_packages / "service") for path in paths)


def test_the_shipped_catalogue_has_no_defect(installed: Installation) -> None:
    assert installed.stepcast("catalog", "check").strip() == "no defect"


def test_the_shipped_migrations_make_a_database(installed: Installation, tmp_path: Path) -> None:
    database = tmp_path / "new.db"
    installed.stepcast("db", "upgrade", STEPCAST_DATABASE_URL=f"sqlite:///{database}")
    assert database.stat().st_size > 0
    installed.stepcast("token", "create", "--name", "first", STEPCAST_DATABASE_URL=f"sqlite:///{database}")
