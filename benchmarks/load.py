"""A closed loop of clients on raw sockets: each sends its next request when it has its answer.

One process and one thread, for the generator shares its cores with what it measures.
"""

from __future__ import annotations

import multiprocessing
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

REQUESTS_PER_CONNECTION = 200  # then anew, so that no worker keeps all connections by luck
_HEADER_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Load:
    """What a run saw."""

    requests_per_second: float
    p50_seconds: float
    p99_seconds: float
    requests: int


@dataclass(slots=True)
class _Client:
    socket: socket.socket
    place: int
    sent_at: float = 0.0
    sent: int = 0
    received: bytearray = field(default_factory=bytearray)


def run(port: int, requests: Sequence[bytes], *, clients: int, seconds: float = 0.0, count: int = 0) -> Load:
    """Send `requests` in turn, from `clients` connections, for `seconds` or until `count` are answered.

    Raises
    ------
    RuntimeError
        At the first answer that is not 200 or 201: a rate of refusals means nothing.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(port, requests, clients, seconds, count, sending))
    process.start()
    sending.close()
    try:
        outcome = receiving.recv()
    except EOFError:
        outcome = "the load generator died"
    process.join()
    if isinstance(outcome, str):
        raise RuntimeError(outcome)
    return Load(*outcome)


def _run(port: int, requests: Sequence[bytes], clients: int, seconds: float, count: int, report: object) -> None:
    try:
        outcome: object = _loop(port, requests, clients, seconds, count)
    except Exception as failure:
        outcome = f"{type(failure).__name__}: {failure}"
    report.send(outcome)  # type: ignore[attr-defined]


def _loop(
    port: int, requests: Sequence[bytes], clients: int, seconds: float, count: int
) -> tuple[float, float, float, int]:
    selector = selectors.DefaultSelector()
    latencies: list[float] = []

    def send(client: _Client) -> None:
        client.received.clear()
        client.sent += 1
        client.place = (client.place + clients) % len(requests)
        client.sent_at = time.perf_counter()
        client.socket.sendall(requests[client.place])

    def connect(place: int) -> None:
        client = _Client(socket.create_connection(("127.0.0.1", port)), place)
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(client.socket, selectors.EVENT_READ, client)
        send(client)

    began = time.perf_counter()
    for place in range(clients):
        connect(place)
    while (time.perf_counter() - began < seconds) if seconds else (len(latencies) < count):
        for key, _ in selector.select(5.0) or _silence():
            client: _Client = key.data
            part = client.socket.recv(65536)
            client.received += part
            if not part:
                raise RuntimeError("the server closed a connection within an answer")
            if not _is_whole(client.received):
                continue
            latencies.append(time.perf_counter() - client.sent_at)
            if not client.received.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
                raise RuntimeError(client.received.decode(errors="replace")[:1000])
            if client.sent < REQUESTS_PER_CONNECTION:
                send(client)
            else:
                selector.unregister(client.socket)
                client.socket.close()
                connect(client.place)
    elapsed = time.perf_counter() - began
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    latencies.sort()
    return (
        len(latencies) / elapsed,
        latencies[len(latencies) // 2],
        latencies[len(latencies) * 99 // 100],
        len(latencies),
    )


def _silence() -> list[tuple[selectors.SelectorKey, int]]:
    raise RuntimeError("no answer for 5 s")


def _is_whole(received: bytearray) -> bool:
    head_end = received.find(_HEADER_END)
    if head_end < 0:
        return False
    head = received[:head_end].lower()
    at = head.find(b"content-length:")
    if at < 0:
        raise RuntimeError("an answer without Content-Length")
    length = int(head[at + len(b"content-length:") :].split(b"\r\n", 1)[0])
    return len(received) >= head_end + len(_HEADER_END) + length
