"""Gauges of tracked scenarios: named, labelled, one of each, and bounded."""

from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client.core import Metric

from service.http.scenario_metrics import _HELP, scenario_metrics
from service.planning.tracked import HEADLINES, MOST_TRACKED, TrackedScenario, figures_of

EVERYTHING = dict.fromkeys([*HEADLINES.values(), "mfu_ratio", "cost_usd_per_hour", "exposed_seconds", "gpus"], 2.0)
ESTIMATE = {
    "result": EVERYTHING | {"fits": True},
    "range": {"low": 1.0, "high": 3.0, "basis_kind": "measured"},
    "engine_version": "1.2.3",
    "catalog_revision": "abc",
}


def scenario(number: int, kind: str = "collective") -> TrackedScenario:
    moment = datetime(2026, 12, 1, tzinfo=UTC)
    return TrackedScenario(f"id-{number:06}", f"name {number}", kind, None, "dgx-h100", moment, ESTIMATE)


def families(scenarios: list[TrackedScenario]) -> dict[str, Metric]:
    found = list(scenario_metrics(scenarios))
    assert len({family.name for family in found}) == len(found)
    return {family.name: family for family in found}


def test_every_figure_of_every_kind_has_its_help() -> None:
    every = {name for kind in HEADLINES for name, _ in figures_of(scenario(1, kind))}
    assert every == set(_HELP)


def test_each_scenario_has_one_sample_of_each_figure() -> None:
    found = families([scenario(2), scenario(1)])
    for sample in found["stepcast_scenario_headline_seconds"].samples:
        assert set(sample.labels) == {"scenario", "kind", "model", "system"}
    names = [sample.labels["scenario"] for sample in found["stepcast_scenario_fits"].samples]
    assert names == ["name 2", "name 1"]
    (_, info) = found["stepcast_scenario_info"].samples
    assert info.labels == {
        "scenario": "name 1", "kind": "collective", "model": "", "system": "dgx-h100", "id": "id-000001",
        "basis_kind": "measured", "engine_version": "1.2.3", "catalog_revision": "abc",
    }  # fmt: skip


def test_without_a_tracked_scenario_only_their_number_is_shown() -> None:
    found = families([])
    assert [name for name, family in found.items() if family.samples] == [
        "stepcast_tracked_scenarios", "stepcast_tracked_scenarios_truncated",
    ]  # fmt: skip
    assert found["stepcast_tracked_scenarios"].samples[0].value == 0


def test_no_more_than_the_limit_are_shown_and_it_is_said() -> None:
    newest_first = [scenario(number) for number in range(MOST_TRACKED + 1, 0, -1)]
    for scenarios, truncated in ((newest_first[1:], 0), (newest_first, 1)):
        found = families(scenarios)
        assert len(found["stepcast_scenario_headline_seconds"].samples) == MOST_TRACKED
        assert found["stepcast_tracked_scenarios"].samples[0].value == MOST_TRACKED
        assert found["stepcast_tracked_scenarios_truncated"].samples[0].value == truncated
