"""/metrics as it is scraped: the same from every worker and replica, and there when the database is not."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import psutil
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.postgres_server import PostgresServer
from tests.serving import Service

INPUTS = {"system": "dgx-h100", "collective": "all_reduce", "gpus": 8, "size_bytes": 1_000_000}
SCRAPES = 12  # on connections of their own: each worker answers some


def _scraped(service: Service) -> dict[str, Metric]:
    answer = service.ask("GET", "/metrics")
    assert answer.status == 200
    return {family.name: family for family in text_string_to_metric_families(answer.body)}


def _keep(service: Service, name: str, gpus: int) -> float:
    body = {"name": name, "kind": "collective", "inputs": INPUTS | {"gpus": gpus}, "tracked": True}
    answer = service.ask("POST", "/v1/scenarios", body)
    assert answer.status == 201
    return float(answer.body["evaluation"]["result"]["seconds"])


def test_every_worker_of_every_replica_shows_each_tracked_scenario_once(database_url: str) -> None:
    with Service(database_url, workers=2) as here, Service(database_url, workers=2) as there:
        kept = {f"{gpus} GPUs": _keep(here, f"{gpus} GPUs", gpus) for gpus in (2, 4, 8)}
        for _ in range(SCRAPES):
            for replica in (here, there):
                families = _scraped(replica)
                samples = families["stepcast_scenario_headline_seconds"].samples
                assert len(samples) == len(kept)
                assert {sample.labels["scenario"]: sample.value for sample in samples} == kept
                assert families["stepcast_tracked_scenarios"].samples[0].value == len(kept)
                (build,) = families["stepcast_build_info"].samples
                assert build.value == 1
                assert len(families["stepcast_database_up"].samples) == 1
        (known,) = [s for s in families["stepcast_scenario_info"].samples if s.labels["scenario"] == "8 GPUs"]
        path = f"/v1/scenarios/{known.labels['id']}"
        assert here.ask("PATCH", path, {"tracked": False}, {"If-Match": "*"}).status == 200
        shown = _scraped(there)["stepcast_scenario_headline_seconds"].samples
        assert {sample.labels["scenario"] for sample in shown} == {"2 GPUs", "4 GPUs"}
        states = {s.labels["state"]: s.value for s in _scraped(here)["stepcast_database_connections"].samples}
        assert states["in_use"] == 0
        assert 1 <= states["idle"] <= 4  # two workers, each keeps up to one a thread


def test_a_database_that_hangs_or_is_gone_takes_only_its_own_metrics_away() -> None:
    server = PostgresServer()
    try:
        server.execute("CREATE DATABASE stepcast")
        with Service(server.url("stepcast")) as service:
            _keep(service, "ours", 8)
            assert _scraped(service)["stepcast_database_up"].samples[0].value == 1
            processes = server.processes()
            for process in processes:
                os.kill(process.pid, signal.SIGSTOP)
            began = time.monotonic()
            _is_away(service)
            assert time.monotonic() - began < 8  # Prometheus waits 10 s
            for process in processes:
                os.kill(process.pid, signal.SIGCONT)
            server.kill()
            _is_away(service)
            server.start()
            deadline = time.monotonic() + 45  # what hung is given up on by then
            while _scraped(service)["stepcast_database_up"].samples[0].value == 0:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            (sample,) = _scraped(service)["stepcast_scenario_headline_seconds"].samples
            assert sample.labels["scenario"] == "ours"
    finally:
        server.stop()


def _is_away(service: Service) -> None:
    families = _scraped(service)
    assert families["stepcast_database_up"].samples[0].value == 0
    assert families["stepcast_http_requests"].samples
    assert "stepcast_scenario_headline_seconds" not in families


def test_a_killed_run_s_counters_are_removed_by_the_next(sqlite_url: str, tmp_path: Path) -> None:
    folder = tempfile.mkdtemp(dir=tmp_path)
    with Service(sqlite_url, PROMETHEUS_MULTIPROC_DIR="", TMPDIR=folder) as service:
        service.ask("GET", "/healthz")
        (first,) = Path(folder).glob("stepcast-metrics-*")
        workers = service.processes()
        service.kill()
        psutil.wait_procs(workers, timeout=20)
        assert first.exists()
        service.start()
        (second,) = Path(folder).glob("stepcast-metrics-*")
        assert second != first
        assert any(second.glob("*.db"))
    assert not list(Path(folder).glob("stepcast-metrics-*"))
