"""`stepcast serve` as it really runs: several workers, one port, real sockets."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.settings import VARIABLES
from tests.contract.asking import COLLECTIVE, QUESTION

ANSWERS = 40


@pytest.fixture(name="port", scope="module")
def _port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {name: value for name, value in os.environ.items() if name not in {row.name for row in VARIABLES}} | {
        "STEPCAST_DATABASE_URL": f"sqlite:///{folder / 'stepcast.db'}",
        "STEPCAST_PORT": str(port),
        "STEPCAST_WORKERS": "2",
        "TMPDIR": str(folder),
    }
    environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
    command = [sys.executable, "-c", "from service.cli import main; main()", "serve"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environ, stderr=log, cwd=Path(__file__).parents[2])
    try:
        _wait_until_ready(server, port)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=20)
    assert code == 0
    assert not list(folder.glob("stepcast-metrics-*")), "the metrics' files outlived the server"
    lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    asked = [line for line in lines if line.get("route") == COLLECTIVE and line["status"] == 200]
    assert len(asked) == ANSWERS
    assert all(re.fullmatch("[0-9a-f]{16}", line["request_id"]) for line in asked)


def _wait_until_ready(server: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        try:
            if _ask(port, "GET", "/readyz")[0] == 200:
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail("the server did not become ready")


def _ask(port: int, method: str, path: str, body: object = None, chunked: bool = False) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, path, body, headers, encode_chunked=chunked)  # type: ignore[arg-type]
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_metrics_are_those_of_all_workers(port: int) -> None:
    body = json.dumps(QUESTION).encode()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: _ask(port, "POST", COLLECTIVE, body), range(ANSWERS)))
    assert {status for status, _ in answers} == {200}
    line = f'stepcast_http_requests_total{{method="POST",route="{COLLECTIVE}",status="200"}}'
    for _ in range(6):  # whichever worker answers
        page = _ask(port, "GET", "/metrics")[1]
        assert f"{line} {ANSWERS:.1f}" in page
        assert f'stepcast_estimates_total{{kind="collective"}} {ANSWERS:.1f}' in page
        assert "stepcast_database_up 1.0" in page


def test_a_chunked_body_over_the_limit_is_refused(port: int) -> None:
    chunks = (b" " * 100_000 for _ in range(20))
    status, text = _ask(port, "POST", COLLECTIVE, chunks, chunked=True)
    assert (status, json.loads(text)["type"]) == (413, "/problems/body-too-large")


def test_a_chunked_body_is_read(port: int) -> None:
    status, text = _ask(port, "POST", COLLECTIVE, iter([b'{"gpus"', b": 0}"]), chunked=True)
    assert (status, "/gpus" in text) == (422, True)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 9000 + b"\r\n\r\n", 431),
        (
            b"POST /v1/estimates/collective HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nnot hexadecimal\r\n",
            400,
        ),
    ],
    ids=["no HTTP", "no header", "long path", "long header", "bad chunk"],
)
def test_what_is_no_request_is_a_problem_too(port: int, request_bytes: bytes, status: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(request_bytes)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head, body = answer.split(b"\r\n\r\n", 1)
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Content-Type: application/problem+json" in head
    document = json.loads(body)
    assert document["status"] == status
    assert document["request_id"] in head.decode()
