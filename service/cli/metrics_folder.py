"""The folder in which the workers share their counters: one a run, gone with it.

A master that is killed cannot remove its own, so the next one to start does. Whether a folder is still in use is asked
of a lock that its master and workers hold, not of a process id: the kernel frees it when the last of them ends, and it
means the same to containers that share a temporary folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "stepcast-metrics-"


class MetricsFolder:
    """A new folder under the temporary one, locked while this process or a fork of it lives."""

    def __init__(self) -> None:
        remove_stale()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock = os.open(self.path, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks: then nobody removes it but we
                fcntl.flock(self._lock, fcntl.LOCK_SH)
            if self.path.exists():  # else another that starts now had it, and took it for a stale one
                return
            os.close(self._lock)

    def remove(self) -> None:
        """Remove it, at the end."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_stale() -> None:
    """Remove what killed runs of this user left under the temporary folder."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # gone by now, not ours, or in use
            _remove_if_unused(path)


def _remove_if_unused(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        standing = os.fstat(folder)
        if standing.st_uid == os.geteuid() and stat.S_IMODE(standing.st_mode) == stat.S_IRWXU:  # as mkdtemp makes them
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(folder)
