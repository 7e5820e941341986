"""Tracked scenarios as gauges. They come from the database, so every worker and replica shows the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from service.planning.tracked import MOST_TRACKED, UNITS, TrackedScenario, figures_of, labels_of

LABELS: Final = ("scenario", "kind", "model", "system")
_PREFIX: Final = "stepcast_scenario_"

_HELP: Final = {
    **{f"headline_{unit}": f"The estimate, where its headline is in {unit}." for unit in UNITS},
    **{f"range_low_{unit}": "Lower bound of the headline's 90 % range." for unit in UNITS},
    **{f"range_high_{unit}": "Upper bound of the headline's 90 % range." for unit in UNITS},
    "fits": "1 when it fits in memory.",
    "mfu_ratio": "Model FLOPs utilization.",
    "exposed_communication_seconds": "Communication that nothing hides.",
    "gpus": "GPUs of the estimate.",
    "cost_usd_per_hour": "What it costs.",
    "evaluated_timestamp_seconds": "When the newest answer was computed, as Unix time.",
}


def scenario_metrics(newest: Sequence[TrackedScenario]) -> Iterator[Metric]:
    """Yield a family for each figure that some scenario has; `newest` may have one more than are shown."""
    shown = list(newest[:MOST_TRACKED])
    families: dict[str, GaugeMetricFamily] = {}
    info = GaugeMetricFamily(
        f"{_PREFIX}info",
        "Which scenario it is, and what its newest answer rests on.",
        labels=[*LABELS, "id", "basis_kind", "engine_version", "catalog_revision"],
    )
    for scenario, labels in zip(shown, labels_of(shown), strict=True):
        estimate = scenario.estimate
        basis = (estimate.get("range") or {}).get("basis_kind")
        rest = (scenario.id, basis, estimate.get("engine_version"), estimate.get("catalog_revision"))
        info.add_metric([*labels, *(str(value or "") for value in rest)], 1)
        for name, value in figures_of(scenario):
            if name not in families:
                families[name] = GaugeMetricFamily(f"{_PREFIX}{name}", _HELP[name], labels=LABELS)
            families[name].add_metric(labels, value)
    yield info
    yield from (families[name] for name in _HELP if name in families)
    yield GaugeMetricFamily("stepcast_tracked_scenarios", "Tracked scenarios shown here.", value=len(shown))
    yield GaugeMetricFamily(
        "stepcast_tracked_scenarios_truncated",
        f"1 when more than {MOST_TRACKED} are tracked: the newest are shown.",
        value=len(newest) > len(shown),
    )
