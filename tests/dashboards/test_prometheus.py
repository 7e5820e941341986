"""A real Prometheus scrapes the real service: every query of the dashboard has data, and the data are right."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from service.persistence.database import open_database
from service.persistence.scenario_store import SqlScenarioStore
from service.planning.scenarios import NewScenario
from service.planning.tracked import HEADLINES
from tests.architecture.sources import ROOT
from tests.dashboards.test_dashboard import VARIABLES, WITH_QUERIES
from tests.prometheus_server import Prometheus, installed
from tests.serving import Service

JOB = "stepcast"
INPUTS = {"system": "dgx-h100", "collective": "all_reduce", "gpus": 8, "size_bytes": 1_000_000}
ASKED = 30  # estimates, spread over workers and replicas
QUERIES = [
    pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
    for panel in WITH_QUERIES
    for target in panel["targets"]
]


def _keep_one_of_every_kind(url: str) -> None:
    """Keep tracked scenarios of all kinds of the API, those too that this version cannot estimate yet."""
    database = open_database(url)
    store = SqlScenarioStore(database)
    for number, (kind, headline) in enumerate(HEADLINES.items(), 1):
        result = {headline: 10.0 * number, "fits": kind != "inference", "mfu_ratio": 0.4, "cost_usd_per_hour": 9.0}
        estimate = {
            "kind": kind,
            "inputs": {"system": "dgx-h100", "model": "llama3-70b", "gpus": 64},
            "result": result | {"exposed_seconds": 0.1},
            "range": {"low": 9.0 * number, "high": 12.0 * number, "basis_kind": "measured"},
            "engine_version": "0",
            "catalog_revision": "r",
        }
        store.add(NewScenario(f'a {kind} "of ours" é \\ \n', kind, {}, tracked=True), estimate)
    database.close()


@pytest.fixture(name="replicas", scope="module")
def _replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Service]]:
    installed("prometheus")
    url = f"sqlite:///{tmp_path_factory.mktemp('scraped') / 'stepcast.db'}"
    with Service(url, workers=2) as here, Service(url, workers=2) as there:
        _keep_one_of_every_kind(url)
        yield [here, there]


@pytest.fixture(name="prometheus", scope="module")
def _prometheus(replicas: list[Service]) -> Iterator[Prometheus]:
    for number in range(4):  # so that the series are there before what is counted
        _ask(replicas[number % 2], number)
    prometheus = Prometheus(ROOT / "dashboards/prometheus.yml", JOB, replicas)
    for number in range(ASKED):
        _ask(replicas[number % 2], number)
    body = {"name": "kept by request", "kind": "collective", "inputs": INPUTS, "tracked": True}
    assert replicas[0].ask("POST", "/v1/scenarios", body).status == 201
    prometheus.wait_for('count_over_time(stepcast_scenario_gpus{scenario="kept by request"}[1m]) >= 3', series=2)
    yield prometheus
    prometheus.stop()


def _ask(service: Service, number: int) -> None:
    assert service.ask("POST", "/v1/estimates/collective", INPUTS).status == 200
    assert service.ask("POST", "/v1/estimates/collective", {"gpus": 0}).status == 422


def _with_variables(expression: str, unit: str) -> str:
    """Return what Grafana would send with every variable at All."""
    values = dict.fromkeys(VARIABLES, ".*") | {"job": JOB, "unit": unit, "__rate_interval": "30s"}
    return re.sub(r"\$(\w+)", lambda name: values.get(name[1], name[0]), expression)


@pytest.mark.parametrize("expression", QUERIES)
def test_every_query_of_the_dashboard_has_data(prometheus: Prometheus, expression: str) -> None:
    units = ("seconds", "tokens_per_second", "gpus") if "$unit" in expression else ("",)
    for unit in units:
        found = prometheus.query(_with_variables(expression, unit))
        assert any(not math.isnan(value) for _, value in found), found  # a route that nobody asked has no quantile


def test_every_variable_of_the_dashboard_has_values(prometheus: Prometheus) -> None:
    for name, variable in VARIABLES.items():
        if variable["type"] == "datasource":
            continue
        query = _with_variables(variable["query"]["query"], "")
        if found := re.fullmatch(r"label_values\((.+), (\w+)\)", query):
            values = prometheus.ask(f"label/{found[2]}/values", **{"match[]": found[1]})
        else:
            (prefix,) = re.fullmatch(r"metrics\((\w+)\)", query).groups()  # type: ignore[union-attr]
            names = [each for each in prometheus.ask("label/__name__/values") if each.startswith(prefix)]
            values = [match[1] for each in names if (match := re.search(variable["regex"].strip("/"), each))]
            assert len(values) == 6
        assert values, name


def test_counters_are_those_of_all_workers_and_replicas(prometheus: Prometheus) -> None:
    # Scrapes began after the first 4 requests; a counter's increase is what was asked since.
    total = 'sum(stepcast_http_requests_total{route="/v1/estimates/collective",status="200"})'
    assert prometheus.query(total) == [({}, ASKED + 4)]
    assert prometheus.query("sum(stepcast_estimates_total)") == [({}, ASKED + 4 + 1)]  # and that of the scenario
    assert prometheus.query(f'count(up{{job="{JOB}"}} == 1)') == [({}, 2)]


def test_a_scenario_is_one_series_of_each_replica(prometheus: Prometheus) -> None:
    for kind, headline in HEADLINES.items():
        series = f'{{__name__=~"stepcast_scenario_headline_.+",kind="{kind}",scenario=~"a .*"}}'
        found = prometheus.query(series)
        assert len(found) == 2
        (name,) = {labels["__name__"] for labels, _ in found}
        assert headline.endswith(name.removeprefix("stepcast_scenario_headline_"))
        assert {value for _, value in found} == {10.0 * (list(HEADLINES).index(kind) + 1)}
        assert {labels["scenario"] for labels, _ in found} == {f'a {kind} "of ours" é \\'}
        assert {labels["model"] for labels, _ in found} == {"llama3-70b"}
    assert len(prometheus.query('stepcast_scenario_headline_seconds{scenario="kept by request"}')) == 2


def test_the_rules_have_results_and_nothing_is_wrong(prometheus: Prometheus) -> None:
    groups = prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 15
    assert {rule["health"] for rule in rules} == {"ok"}
    for rule in rules:
        if rule["type"] == "recording":
            assert prometheus.query(rule["name"]), rule["name"]
    assert [alert for rule in rules for alert in rule.get("alerts", []) if alert["state"] == "firing"] == []


def test_prometheus_takes_every_sample(prometheus: Prometheus) -> None:
    targets: list[dict[str, Any]] = prometheus.ask("targets")["activeTargets"]
    assert [(target["health"], target["lastError"]) for target in targets] == [("up", "")] * 2
    for complaint in ("duplicate", "out of order", "Error on ingesting"):
        assert complaint not in prometheus.log()


def test_the_page_is_clean_by_promtool(replicas: list[Service]) -> None:
    page = replicas[0].ask("GET", "/metrics").body
    done = subprocess.run(
        [installed("promtool"), "check", "metrics"], input=page, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert json.dumps(page).count("stepcast_scenario_info{") == len(HEADLINES) + 1
