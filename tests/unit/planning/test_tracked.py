"""What a tracked scenario shows, for every kind of the API; answers written by hand in its shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from service.planning.tracked import HEADLINES, UNITS, TrackedScenario, figures_of, labels_of

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOON_UNIX = 1_796_126_400.0  # 20,788 days after 1970-01-01, and half a day


def tracked(kind: str, result: Any, *, bounds: Any = None, inputs: Any = None, **fields: Any) -> TrackedScenario:
    estimate = {"kind": kind, "inputs": inputs or {}, "result": result, "range": bounds or {"low": 1.0, "high": 3.0}}
    row = {"id": "01", "name": "ours", "kind": kind, "model": None, "system": None, "evaluated_at": NOON}
    return TrackedScenario(**row | fields | {"estimate": estimate})


def figures(kind: str, result: Any, **fields: Any) -> dict[str, float]:
    pairs = list(figures_of(tracked(kind, result, **fields)))
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize(
    ("kind", "field", "unit"),
    [
        ("collective", "seconds", "seconds"),
        ("training-step", "step_seconds", "seconds"),
        ("inference", "output_tokens_per_second", "tokens_per_second"),
        ("serving-fleet", "gpus", "gpus"),
        ("storage", "write_bytes_per_second", "bytes_per_second"),
        ("goodput", "goodput_ratio", "ratio"),
        ("cost", "cost_usd", "usd"),
    ],
)
def test_the_headline_of_every_kind_is_named_by_its_unit(kind: str, field: str, unit: str) -> None:
    shown = figures(kind, {field: 2.0})
    assert (shown[f"headline_{unit}"], shown[f"range_low_{unit}"], shown[f"range_high_{unit}"]) == (2.0, 1.0, 3.0)
    assert set(shown) - {"gpus"} == {
        f"headline_{unit}", f"range_low_{unit}", f"range_high_{unit}", "evaluated_timestamp_seconds",
    }  # fmt: skip
    assert set(HEADLINES.values()) >= {field}
    assert unit in UNITS


def test_a_training_step_also_shows_whether_it_fits_and_what_nothing_hides() -> None:
    breakdown = {"forward_compute": 4.0, "tensor_parallel_exposed": 0.5, "data_parallel_exposed": 0.25, "other": 1.0}
    result = {"step_seconds": 9.0, "fits": False, "mfu_ratio": 0.41, "breakdown": breakdown}
    shown = figures("training-step", result, inputs={"gpus": 1024})
    assert (shown["fits"], shown["mfu_ratio"], shown["gpus"]) == (0.0, 0.41, 1024.0)
    assert shown["exposed_communication_seconds"] == 0.75  # 0.5 + 0.25
    assert shown["evaluated_timestamp_seconds"] == NOON_UNIX


def test_a_fleet_s_gpus_are_those_of_the_answer() -> None:
    shown = figures("serving-fleet", {"gpus": 48, "cost_usd_per_hour": 96.5}, inputs={"gpus": 8})
    assert (shown["gpus"], shown["headline_gpus"], shown["cost_usd_per_hour"]) == (48.0, 48.0, 96.5)


def test_a_collective_s_exposed_time_is_the_one_it_states() -> None:
    assert figures("collective", {"seconds": 2.0, "exposed_seconds": 0.5})["exposed_communication_seconds"] == 0.5


@pytest.mark.parametrize(
    ("kind", "result", "bounds"),
    [
        ("of-a-later-version", {"seconds": 2.0}, {"low": 1.0}),
        ("collective", {"seconds": "2 s"}, {"low": None, "high": float("nan")}),
        ("collective", {"seconds": float("inf"), "fits": "yes", "breakdown": 3}, {"low": True}),
        ("collective", {"seconds": 10**400, "gpus": -(10**400)}, {"low": float("-inf")}),
        ("collective", None, [1.0, 3.0]),
        ("collective", {"breakdown": {"data_parallel_exposed": None}}, "wide"),
    ],
)
def test_what_an_answer_has_not_is_left_out(kind: str, result: Any, bounds: Any) -> None:
    assert set(figures(kind, result, bounds=bounds)) == {"evaluated_timestamp_seconds"}


def test_labels_are_what_the_scenario_is_about() -> None:
    (labels,) = labels_of([tracked("collective", {}, model="llama3-70b")])
    assert labels == ("ours", "collective", "llama3-70b", "")


def test_a_name_is_one_line_and_never_nothing() -> None:
    names = [name for name, *_ in labels_of([tracked("cost", {}, name=name) for name in (" a\r\n\tb ", "\n")])]
    assert names == ["a b", "01"]


def test_of_one_name_the_oldest_keeps_it_and_no_two_series_are_alike() -> None:
    ids = ["01a23f83-5ced-7e26-a233-000000000003", "01a23f83-5ced-7e26-a233-000000000001"]
    newest_first = [tracked("collective", {}, id=each) for each in ids]
    assert [name for name, *_ in labels_of(newest_first)] == ["ours #000000000003", "ours"]
    other = tracked("collective", {}, id="01a23f83-5ced-7e26-a233-000000000004", system="dgx-h100")
    assert [name for name, *_ in labels_of([other, *newest_first])] == ["ours", "ours #000000000003", "ours"]
