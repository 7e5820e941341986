"""Health, metrics, documentation: what runs without a token and without the internet."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from service.errors import StoreUnavailable
from service.http import metrics
from service.http.api import build
from service.http.problem_types import PROBLEM_TYPES
from service.planning.tracked import TrackedScenario
from tests.contract.asking import QUESTION, post, problem_of
from tests.fakes import FakeDatabase, FakeScenarios, fake_app, fake_services


def test_health_needs_nothing_and_readiness_the_database() -> None:
    services = fake_services()
    down = replace(services, database=FakeDatabase(up=False))
    assert build(services).test_client().get("/readyz").status_code == 200
    client = build(down).test_client()
    assert client.get("/healthz").get_json()["status"] == "ok"
    answer = client.get("/readyz")
    assert problem_of(answer, 503)["detail"] == "the database does not answer"
    assert answer.headers["Retry-After"]


def test_metrics_count_by_route_template_and_never_by_path() -> None:
    client = fake_app().test_client()
    post(client, QUESTION)
    post(client, {})
    client.get("/v1/catalog/systems/dgx-h100")
    client.get("/secret/path/4711")
    client.open("/healthz", method="BREW")
    page = client.get("/metrics").text
    families = _families(page)
    assert all(name.startswith("stepcast_") for name in families)
    assert families["stepcast_database_up"].samples[0].value == 1
    assert families["stepcast_build_info"].samples[0].labels["version"]
    assert "collective" in {s.labels["kind"] for s in families["stepcast_estimates"].samples}
    counted = {
        (s.labels["method"], s.labels["route"], s.labels["status"])
        for s in families["stepcast_http_requests"].samples
        if s.name.endswith("_total")
    }
    assert {
        ("POST", "/v1/estimates/collective", "200"),
        ("POST", "/v1/estimates/collective", "422"),
        ("GET", "/v1/catalog/<kind>/<path:entry_id>", "200"),
        ("GET", "unmatched", "404"),
        ("other", "unmatched", "405"),
    } <= counted
    assert "secret" not in page
    assert "dgx-h100" not in page


def _families(page: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(page)}


def test_a_tracked_scenario_is_shown_with_its_answer_s_figures() -> None:
    client = fake_app().test_client()
    question = {**QUESTION, "overlap_window_seconds": 0.0001}
    for name, tracked in (("ours", True), ("untracked", False)):
        body = {"name": name, "kind": "collective", "inputs": question, "tracked": tracked}
        kept = post(client, body, "/v1/scenarios").get_json()
        if tracked:
            evaluation, scenario_id = kept["evaluation"], kept["id"]
    families = _families(client.get("/metrics").text)
    labels = {"scenario": "ours", "kind": "collective", "model": "", "system": "dgx-h100"}
    shown = {
        name.removeprefix("stepcast_scenario_"): [(sample.labels, sample.value) for sample in family.samples]
        for name, family in families.items()
        if name.startswith("stepcast_scenario_") and name != "stepcast_scenario_info"
    }
    evaluated = datetime.fromisoformat(evaluation["created_at"]).timestamp()
    assert shown == {
        "headline_seconds": [(labels, evaluation["result"]["seconds"])],
        "range_low_seconds": [(labels, evaluation["range"]["low"])],
        "range_high_seconds": [(labels, evaluation["range"]["high"])],
        "exposed_communication_seconds": [(labels, evaluation["result"]["exposed_seconds"])],
        "gpus": [(labels, 8.0)],
        "evaluated_timestamp_seconds": [(labels, pytest.approx(evaluated, abs=1e-3))],
    }
    (info,) = families["stepcast_scenario_info"].samples
    assert info.labels["id"] == scenario_id
    build = families["stepcast_build_info"].samples[0].labels
    for name in ("engine_version", "catalog_revision"):
        assert info.labels[name] == evaluation[name] == build[name]


def test_without_a_database_the_other_metrics_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaves(FakeScenarios):
        def tracked(self, *, limit: int) -> Sequence[TrackedScenario]:
            raise StoreUnavailable("it went away")

    class Hangs(FakeScenarios):
        def tracked(self, *, limit: int) -> Sequence[TrackedScenario]:
            released.wait(10)
            return []

    monkeypatch.setattr(metrics, "PATIENCE_SECONDS", 0.2)
    released = threading.Event()
    for services in (
        replace(fake_services(), database=FakeDatabase(up=False)),
        replace(fake_services(), scenarios=Leaves()),
        replace(fake_services(), scenarios=Hangs()),
    ):
        client = build(services).test_client()
        client.get("/healthz")
        answer = client.get("/metrics")
        assert answer.status_code == 200
        families = _families(answer.text)
        assert families["stepcast_database_up"].samples[0].value == 0
        assert families["stepcast_build_info"].samples[0].value == 1
        assert families["stepcast_http_requests"].samples
        assert not any(name.startswith(("stepcast_scenario_", "stepcast_tracked_")) for name in families)
    released.set()


def test_the_docs_load_nothing_from_elsewhere() -> None:
    client = fake_app().test_client()
    page = client.get("/docs")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert linked
    for path in linked:
        assert path.startswith("/")
        assert client.get(path).status_code == 200
    assert "/openapi.json" in client.get("/docs/start.js").text
    problem_of(client.get("/docs/../api.py"), 404)
    problem_of(client.get("/docs/index.html"), 404)


def test_the_landing_page_s_links_lead_somewhere() -> None:
    client = fake_app().test_client()
    page = client.get("/").text
    for path in re.findall(r'href="([^"]+)"', page):
        assert client.get(path).status_code == 200
    (question,) = re.findall(r'curl "http://localhost:8000([^"]+)"', page)
    assert client.get(question.replace("&amp;", "&")).content_type.startswith("text/plain")


@pytest.mark.parametrize("code", sorted(PROBLEM_TYPES))
def test_every_problem_is_explained(code: str) -> None:
    row = PROBLEM_TYPES[code]
    assert row.meaning
    page = fake_app().test_client().get(f"/problems/{code}")
    assert page.status_code == 200
    assert str(row.status) in page.text


def test_a_request_keeps_its_id_and_has_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    client = fake_app().test_client()
    caplog.set_level(logging.INFO, "stepcast.requests")
    assert client.get("/healthz", headers={"X-Request-ID": "mine-1"}).headers["X-Request-ID"] == "mine-1"
    answer = client.get("/healthz", headers={"X-Request-ID": "not an id"})
    assert re.fullmatch("[0-9a-f]{16}", answer.headers["X-Request-ID"])
    first, second = (record.fields for record in caplog.records)  # type: ignore[attr-defined]
    assert (first["request_id"], first["route"], first["status"]) == ("mine-1", "/healthz", 200)
    assert second["request_id"] == answer.headers["X-Request-ID"]


def test_a_fault_of_ours_says_nothing_but_the_request_id(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeDatabase):
        def ready(self) -> tuple[bool, str]:
            raise RuntimeError("secret")

    answer = build(replace(fake_services(), database=Broken())).test_client().get("/readyz")
    document = problem_of(answer, 500)
    assert "secret" not in json.dumps(document)
    (record,) = (record for record in caplog.records if record.name == "stepcast.problems")
    assert record.request_id == document["request_id"]  # type: ignore[attr-defined]
