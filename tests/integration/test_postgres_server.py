"""The tests' own Postgres, from the wheel: what a machine without Debian's has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from service.persistence import migrations
from service.persistence.database import open_database
from tests.postgres_server import PostgresServer, wheel_binaries


@pytest.mark.parametrize("readable", [True, False])
def test_the_server_of_the_wheel_runs(tmp_path: Path, readable: bool) -> None:
    binaries = wheel_binaries()
    assert binaries is not None
    if not readable and os.geteuid() == 0:  # as in a checkout below root's home, which `nobody` cannot enter
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        install, package = binaries.parent, binaries.parent.parent
        shutil.copytree(install, closed / package.name / install.name, symlinks=True)
        shutil.copytree(package.with_name(f"{package.name}.libs"), closed / f"{package.name}.libs")
        binaries = closed / package.name / install.name / "bin"
    server = PostgresServer(binaries)
    try:
        server.execute("CREATE DATABASE kept")
        database = open_database(server.url("kept"))
        migrations.upgrade(database.engine)
        assert migrations.is_current(database.engine)
        server.kill()
        assert database.ready()[0] is False
        server.start()
        assert database.ready()[0] is True
        database.close()
    finally:
        server.stop()
    assert not server.folder.exists()
