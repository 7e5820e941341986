"""A folder of counters outlives nobody, and nobody removes another's."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from service.cli.metrics_folder import MetricsFolder


@pytest.fixture(name="temporary", autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _left_by_a_killed_run(*, worker_seconds: float = 0.0) -> Path:
    """Return the folder of a process that was killed with SIGKILL; a fork of it may live on a little."""
    told, tell = os.pipe()
    if (pid := os.fork()) == 0:
        folder = MetricsFolder()
        (folder.path / "counter_1.db").write_text("1")
        if worker_seconds and os.fork() == 0:
            time.sleep(worker_seconds)
            os._exit(0)
        os.write(tell, str(folder.path).encode())
        time.sleep(30)
        os._exit(0)
    path = Path(os.read(told, 1000).decode())
    os.close(told)
    os.close(tell)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return path


def test_it_is_there_until_removed(temporary: Path) -> None:
    folder = MetricsFolder()
    assert folder.path.parent == temporary
    folder.remove()
    assert list(temporary.iterdir()) == []


def test_a_start_removes_what_killed_runs_left(temporary: Path) -> None:
    stale = _left_by_a_killed_run()
    assert stale.exists()
    folder = MetricsFolder()
    assert list(temporary.iterdir()) == [folder.path]
    folder.remove()


def test_a_start_leaves_what_is_in_use() -> None:
    running = MetricsFolder()
    workers_live_on = _left_by_a_killed_run(worker_seconds=1.0)
    MetricsFolder().remove()
    assert running.path.exists()
    assert workers_live_on.exists()
    deadline = time.monotonic() + 20
    while workers_live_on.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
        MetricsFolder().remove()
    assert not workers_live_on.exists()
    running.remove()


def test_a_start_leaves_what_is_not_such_a_folder(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "kept").touch()
    (temporary / "stepcast-metrics-link").symlink_to(elsewhere)
    (temporary / "stepcast-metrics-file").touch()
    (temporary / "stepcast-metrics-shared").mkdir()
    (temporary / "stepcast-metrics-shared").chmod(0o777)  # one that many may write was not made by mkdtemp
    before = sorted(temporary.rglob("*"))
    MetricsFolder().remove()
    assert sorted(temporary.rglob("*")) == before
