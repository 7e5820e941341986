"""What a scenario that is tracked shows on a dashboard: its headline, the bounds, and the few figures worth a curve."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

MOST_TRACKED: Final = 1000  # that are shown; a metric says when there are more

# Kind -> the figure of `result` that `range` bounds.
HEADLINES: Final = {
    "collective": "seconds",
    "training-step": "step_seconds",
    "inference": "output_tokens_per_second",
    "serving-fleet": "gpus",
    "storage": "write_bytes_per_second",
    "goodput": "goodput_ratio",
    "cost": "cost_usd",
}
# A headline's unit is how its name ends, the longest ending first.
UNITS: Final = ("bytes_per_second", "tokens_per_second", "seconds", "ratio", "usd", "gpus")
_ALSO_SHOWN: Final = ("mfu_ratio", "cost_usd_per_hour")
_EXPOSED: Final = "_exposed"  # the parts of a breakdown that are communication nothing hides


@dataclass(frozen=True, slots=True)
class TrackedScenario:
    """A tracked scenario with its newest answer.

    Parameters
    ----------
    model, system : str or None
        Ids that the question resolved to; None without one, or where it was given inline.
    estimate : Mapping[str, Any]
        The answer as it was kept, maybe by another version.
    """

    id: str
    name: str
    kind: str
    model: str | None
    system: str | None
    evaluated_at: datetime
    estimate: Mapping[str, Any]


def figures_of(scenario: TrackedScenario) -> Iterator[tuple[str, float]]:
    """Yield (name, value) for each figure to show, the unit last in the name; what an answer has not is left out."""
    result, bounds = (_mapping(scenario.estimate.get(part)) for part in ("result", "range"))
    yield from _headline(HEADLINES.get(scenario.kind, ""), result, bounds)
    if isinstance(fits := result.get("fits"), bool):
        yield "fits", float(fits)
    for name in _ALSO_SHOWN:
        yield from _figure(name, result.get(name))
    yield from _figure("exposed_communication_seconds", _exposed_seconds(result))
    yield from _figure("gpus", result.get("gpus", _mapping(scenario.estimate.get("inputs")).get("gpus")))
    yield "evaluated_timestamp_seconds", scenario.evaluated_at.timestamp()


def labels_of(scenarios: list[TrackedScenario]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (scenario, kind, model, system) for each: no two alike.

    Names need not be unique, series must be: the oldest of a name has it as it is, so that its curve goes on when
    another comes; the others have the end of their id behind it.
    """
    oldest: dict[tuple[str, str, str, str], str] = {}
    plain = [(_one_line(each), each.kind, each.model or "", each.system or "") for each in scenarios]
    for labels, each in zip(plain, scenarios, strict=True):
        oldest[labels] = min(oldest.get(labels, each.id), each.id)  # ids sort by time
    for labels, each in zip(plain, scenarios, strict=True):
        name, *rest = labels
        kind, model, system = rest
        yield (name if oldest[labels] == each.id else f"{name} #{each.id[-12:]}", kind, model, system)


def _one_line(scenario: TrackedScenario) -> str:
    return " ".join(scenario.name.split()) or scenario.id  # no `.*` of a dashboard would match a line break


def _headline(field: str, result: Mapping[str, Any], bounds: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    unit = next((unit for unit in UNITS if field.endswith(unit)), None)
    if unit is not None:
        yield from _figure(f"headline_{unit}", result.get(field))
        yield from _figure(f"range_low_{unit}", bounds.get("low"))
        yield from _figure(f"range_high_{unit}", bounds.get("high"))


def _exposed_seconds(result: Mapping[str, Any]) -> Any:
    if "exposed_seconds" in result:
        return result["exposed_seconds"]
    parts = [value for name, value in _mapping(result.get("breakdown")).items() if name.endswith(_EXPOSED)]
    return sum(parts) if parts and all(isinstance(part, int | float) for part in parts) else None


def _figure(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:  # not NaN
        yield name, float(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
