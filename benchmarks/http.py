"""Measure the service against the least that could answer, and print the table that the docs quote."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.load import Load, run
from tests.postgres_server import PostgresServer
from tests.serving import Service

SYSTEMS = ("dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "gb200-nvl72")
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
VARIETY = 2000  # distinct requests a run


@dataclass(slots=True)
class Arm:
    """One thing that is measured, and what each round saw."""

    name: str
    port: int
    request: Callable[[random.Random], bytes]
    loads: list[Load] = field(default_factory=list)

    def measure(self, seconds: float, clients: int, seed: int) -> None:
        """Add a round, of requests that no round before had."""
        self.loads.append(run(self.port, varied(self.request, seed), clients=clients, seconds=seconds))

    def row(self) -> str:
        """Return it as a row of the table."""
        rates = [load.requests_per_second for load in self.loads]
        p50s = [load.p50_seconds * 1e3 for load in self.loads]
        p99s = [load.p99_seconds * 1e3 for load in self.loads]
        tails = [load.p99_seconds / load.p50_seconds for load in self.loads]
        cells = (spread(rates, "{:.0f}"), spread(p50s, "{:.1f}"), spread(p99s, "{:.1f}"), spread(tails, "{:.1f}"))
        return f"| {self.name} | {' | '.join(cells)} |"


def varied(request: Callable[[random.Random], bytes], seed: int) -> list[bytes]:
    """Return requests that a cache could not answer twice."""
    source = random.Random(seed)
    return [request(source) for _ in range(VARIETY)]


def spread(values: list[float], form: str) -> str:
    """Return min / **median** / max."""
    low, middle, high = (form.format(value) for value in (min(values), statistics.median(values), max(values)))
    return f"{low} / **{middle}** / {high}"


def question(source: random.Random) -> dict[str, object]:
    """Return a question about a collective that nobody asked before."""
    return {
        "system": source.choice(SYSTEMS),
        "collective": source.choice(COLLECTIVES),
        "gpus": source.choice((2, 4, 8)),
        "size_bytes": source.randrange(1_000, 1_000_000_000) // 64 * 64,
        "dtype": source.choice(("bf16", "fp32")),
    }


def post(path: str, body: Callable[[random.Random], object]) -> Callable[[random.Random], bytes]:
    """Return a maker of POST requests."""

    def request(source: random.Random) -> bytes:
        content = json.dumps(body(source)).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content

    return request


def get(path: str) -> Callable[[random.Random], bytes]:
    """Return a maker of GET requests."""
    return lambda source: f"GET {path}?{urlencode(question(source))} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def scenario(source: random.Random) -> dict[str, object]:
    """Return a scenario to keep."""
    return {"name": f"scenario {source.random()}", "kind": "collective", "inputs": question(source), "tags": ["bench"]}


@contextmanager
def arms(postgres: PostgresServer, folder: Path) -> Iterator[dict[str, Arm]]:
    """Start what is measured, idle until it is its turn."""
    for name in ("service", "rows"):
        postgres.execute(f"CREATE DATABASE bench_{name}")
    workers = len(os.sched_getaffinity(0))
    bare = [sys.executable, "-m"]
    with ExitStack() as running:

        def start(url: str, command: list[str] | None = None) -> int:
            return running.enter_context(Service(url, workers=workers, command=command)).port

        echo = start("", [*bare, "benchmarks.baselines.echo"])
        ports = {
            "SQLite": (
                start(f"sqlite:///{folder}/rows.db", [*bare, "benchmarks.baselines.insert"]),
                start(f"sqlite:///{folder}/service.db"),
            ),
            "Postgres": (
                start(postgres.url("bench_rows"), [*bare, "benchmarks.baselines.insert"]),
                start(postgres.url("bench_service")),
            ),
        }
        listed = [
            Arm("GET bare echo", echo, get("/echo")),
            Arm("POST bare echo", echo, post("/echo", question)),
        ]
        for kind, (rows, service) in ports.items():
            listed += [
                Arm(f"GET estimate, {kind}", service, get("/v1/estimates/collective")),
                Arm(f"POST estimate, {kind}", service, post("/v1/estimates/collective", question)),
                Arm(f"POST bare insert, {kind}", rows, post("/rows", scenario)),
                Arm(f"POST scenario, {kind}", service, post("/v1/scenarios", scenario)),
            ]
        yield {arm.name: arm for arm in listed}


# What is compared, with what, and what it should reach at least.
RATIOS = [
    (f"{method} estimate, {kind}", f"{method} bare echo", 0.40)
    for method in ("GET", "POST")
    for kind in ("SQLite", "Postgres")
] + [(f"POST scenario, {kind}", f"POST bare insert, {kind}", 0.60) for kind in ("SQLite", "Postgres")]


def print_rates(measured: dict[str, Arm]) -> None:
    """Print what each arm did, and the ratios within each round."""
    print("\n| arm | requests/s | p50 ms | p99 ms | p99 / p50 (target < 5) |\n|---|---|---|---|---|")
    for arm in measured.values():
        print(arm.row())
    print("\n| ratio of requests/s | min / **median** / max | target |\n|---|---|---|")
    for name, baseline, target in RATIOS:
        if not {name, baseline} <= set(measured):
            continue
        pairs = zip(measured[name].loads, measured[baseline].loads, strict=True)
        ratios = [load.requests_per_second / base.requests_per_second for load, base in pairs]
        print(f"| {name} ÷ {baseline} | {spread(ratios, '{:.2f}')} | ≥ {target:.2f} |")


def print_memory(folder: Path, requests: int, clients: int) -> None:
    """Print how a worker grows: from the first to the second half of the requests it should not."""
    with Service(f"sqlite:///{folder}/memory.db") as service:
        sizes = []
        for part in range(3):  # the first warms up
            load = varied(post("/v1/estimates/collective", question), part)
            run(service.port, load, clients=clients, count=max(requests // 2, 1))
            sizes.append(sum(process.memory_info().rss for process in service.processes()[1:]) / 1e6)
    print("\n| requests | all workers' memory MB, after a first half as many to warm up | half-way | at the end |")
    print("|---|---|---|---|")
    print(f"| {requests} | {sizes[0]:.1f} | {sizes[1]:.1f} | {sizes[2]:.1f} |")


def print_start(folder: Path, rounds: int) -> None:
    """Print how long from start to ready."""
    first = []
    again = []
    for number in range(rounds):
        with Service(f"sqlite:///{folder}/start-{number}.db") as service:
            first.append(service.started_in_seconds)
            service.kill()
            again.append(service.start())
    print("\n| start to ready, SQLite | seconds (target < 3) |\n|---|---|")
    print(f"| new database | {spread(first, '{:.2f}')} |\n| again | {spread(again, '{:.2f}')} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each arm in each round")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--only", default="", help="arms whose name holds this, without memory and start")
    parser.add_argument("--memory-requests", type=int, default=20_000, help="the target is flat over 100000")
    options = parser.parse_args()
    print(
        f"{platform.python_implementation()} {platform.python_version()}, {len(os.sched_getaffinity(0))} cores, ",
        end="",
    )
    print(f"{options.clients} clients, {options.rounds} rounds of {options.seconds:g} s; min / **median** / max")
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory(prefix="stepcast-bench-") as name:
            folder = Path(name)
            with arms(server, folder) as started:
                measured = {name: arm for name, arm in started.items() if options.only in name}
                for arm in measured.values():  # warm up
                    run(arm.port, varied(arm.request, -1), clients=options.clients, seconds=0.5)
                for number in range(options.rounds):
                    for arm in measured.values():
                        arm.measure(options.seconds, options.clients, number)
            print_rates(measured)
            if options.only:
                return
            print_memory(folder, options.memory_requests, options.clients)
            print_start(folder, options.rounds)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
