"""The Grafana dashboard, written as code: what the service does, what it estimates, and every tracked scenario.

python -m dashboards.generate      writes dashboards/stepcast.json (make dashboards)

A kind of estimate that is added later shows up by itself: its headline's unit is read off the metric's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

FILE = Path(__file__).with_name("stepcast.json")
_WIDTH = 24  # of Grafana's grid
_SOURCE = common_models.DataSourceRef(type_val="prometheus", uid="$datasource")
_JOB = 'job=~"$job"'
_SCENARIO_VARIABLES = ("kind", "model", "system", "scenario")
_SCENARIOS = ",".join([_JOB, *(f'{name}=~"${name}"' for name in _SCENARIO_VARIABLES)])
_BY_SCENARIO = "max by (job, scenario, kind, model, system)"  # replicas show the same scenarios: one of them will do
_UP, _AWAY, _WARN = "green", "red", "orange"

# How a headline's unit, as metrics name it, is shown.
_GRAFANA_UNITS = {
    "seconds": "s",
    "bytes_per_second": "Bps",
    "tokens_per_second": "suffix: tokens/s",
    "ratio": "percentunit",
    "usd": "currencyUSD",
    "gpus": "suffix: GPUs",
}


def rate(metric: str, *matchers: str) -> str:
    """Return a counter's rate over what Grafana finds fit for the picture's width."""
    return f"rate({metric}{{{','.join([_JOB, *matchers])}}}[$__rate_interval])"


def quantile(level: float, metric: str, by: str) -> str:
    """Return a histogram's quantile."""
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({level}, sum by ({labels}) ({rate(f'{metric}_bucket')}))"


def scenario_figure(name: str) -> str:
    """Return one figure of the chosen scenarios."""
    return f"{_BY_SCENARIO} (stepcast_scenario_{name}{{{_SCENARIOS}}})"


def scenario_figures(prefix: str) -> str:
    """Return a figure whose metric is named for its unit, whatever the unit."""
    matchers = f'__name__=~"stepcast_scenario_{prefix}_.+",{_SCENARIOS}'
    return f"{_BY_SCENARIO} ({{{matchers}}})"


def _query(expr: str, legend: str = "__auto", ref: str = "A") -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(expr).legend_format(legend).ref_id(ref).range()


def _cell(expr: str, ref: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(expr).ref_id(ref).instant().format(PromQueryFormat.TABLE)


def _override(**properties: Any) -> list[models.DynamicConfigValue]:
    return [models.DynamicConfigValue(name.replace("__", "."), value) for name, value in properties.items()]


def _thresholds(*steps: tuple[float | None, str]) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value, color) for value, color in steps])
    )


def _figure(
    title: str, expr: str, unit: str, about: str, *steps: tuple[float | None, str], width: int = _WIDTH // 6
) -> stat.Panel:
    return (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(_SOURCE)
        .with_target(_query(expr))
        .unit(unit)
        .thresholds(_thresholds(*(steps or ((None, _UP),))))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_mode(common_models.BigValueColorMode.BACKGROUND_SOLID if steps else common_models.BigValueColorMode.NONE)
        .span(width)
        .height(4)
    )


def _curves(title: str, unit: str, about: str, queries: Iterable[tuple[str, str]]) -> timeseries.Panel:
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(_SOURCE)
        .unit(unit)
        .min(0)
        .fill_opacity(8)
        .show_points(common_models.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .display_mode(common_models.LegendDisplayMode.LIST)
            .placement(common_models.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .tooltip(common.VizTooltipOptions().mode(common_models.TooltipDisplayMode.MULTI))
        .span(_WIDTH // 3)
        .height(8)
    )
    for ref, (expr, legend) in zip("ABCDEFGH", queries, strict=False):
        panel = panel.with_target(_query(expr, legend, ref))
    return panel


def _health() -> list[Any]:
    requests, seconds = "stepcast_http_requests_total", "stepcast_http_request_duration_seconds"
    failed = rate(requests, 'status=~"5.."')
    failed_part = f"(sum({failed}) or vector(0)) / sum({rate(requests)})"
    up = "Replicas that Prometheus reaches."
    away = "Whether every replica reaches its database, with a current schema."
    database = _figure("Database", f"min(stepcast_database_up{{{_JOB}}})", "short", away, (None, _AWAY), (1, _UP))
    words = {"0": models.ValueMappingResult(text="away"), "1": models.ValueMappingResult(text="up")}
    return [
        _figure("Replicas up", f"sum(up{{{_JOB}}})", "short", up, (None, _AWAY), (1, _UP)),
        database.mappings([models.ValueMap(words)]),
        _figure("Requests", f"sum({rate(requests)})", "reqps", "Answered, whatever the answer."),
        _figure(
            "Errors", failed_part, "percentunit", "Answers with a status of 500 or more.",
            (None, _UP), (0.001, _WARN), (0.01, _AWAY),
        ),
        _figure("Slowest 1 %", quantile(0.99, seconds, ""), "s", "99 of 100 requests are answered within this time."),
        _figure(
            "Catalogues", f"count(count by (catalog_revision) (stepcast_build_info{{{_JOB}}}))", "short",
            "Different catalogue revisions among the replicas: 1 when all agree.", (None, _UP), (2, _WARN),
        ),
        _curves(
            "Requests by route and status", "reqps", "Route templates, never paths.",
            [(f"sum by (method, route, status) ({rate(requests)})", "{{method}} {{route}} {{status}}")],
        ),
        _curves(
            "Time to answer by route", "s", "Median and 99th percentile.",
            [(quantile(level, seconds, "route"), f"{{{{route}}}} p{round(level * 100)}") for level in (0.5, 0.99)],
        ),
        _curves(
            "Database connections", "short", "In the pools of all workers.",
            [(f"sum by (state) (stepcast_database_connections{{{_JOB}}})", "{{state}}")],
        ),
    ]  # fmt: skip


def _estimates() -> list[Any]:
    count, seconds = "stepcast_estimates_total", "stepcast_estimate_duration_seconds"
    refused = rate("stepcast_http_requests_total", 'route=~"/v1/.+"', 'status=~"4.."')
    return [
        _curves("Estimates by kind", "cps", "Computed, for an answer or a scenario.",
                [(f"sum by (kind) ({rate(count)})", "{{kind}}")]),
        _curves("Time to compute by kind", "s", "Median and 99th percentile; reading and writing aside.",
                [(quantile(level, seconds, "kind"), f"{{{{kind}}}} p{round(level * 100)}") for level in (0.5, 0.99)]),
        _curves("Refused questions by route", "reqps", "Answers with a status of 400 to 499.",
                [(f"sum by (route, status) ({refused})", "{{route}} {{status}}")]),
    ]  # fmt: skip


def _headlines() -> timeseries.Panel:
    """Return the panel that Grafana repeats for each unit that a headline has."""
    queries = [
        (scenario_figure("headline_$unit"), "{{scenario}} [$unit]"),
        (scenario_figure("range_low_$unit"), "{{scenario}} low [$unit]"),
        (scenario_figure("range_high_$unit"), "{{scenario}} high [$unit]"),
    ]
    about = "What each scenario's newest answer says, and the bounds that hold 90 of 100 measurements (dashed)."
    panel = (
        _curves("Tracked scenarios: headline in $unit", "short", about, queries)
        .repeat("unit")
        .repeat_direction("v")
        .span(_WIDTH)
    )
    for unit, shown in _GRAFANA_UNITS.items():
        panel = panel.override_by_regexp(f"/\\[{unit}\\]$/", _override(unit=shown))
    dashed = {"fill": "dash", "dash": [4, 8]}
    for ref in "BC":
        hidden = {"legend": True, "tooltip": False, "viz": False}
        properties = _override(custom__lineStyle=dashed, custom__fillOpacity=0, custom__hideFrom=hidden)
        panel = panel.override_by_query(ref, properties)
    return panel.height(9)


def _table() -> table.Panel:
    named = scenario_figures("headline").replace("(job, ", "(__name__, job, ")
    info = ", ".join(["job", "scenario", "kind", "model", "system", "basis_kind", "catalog_revision", "id"])
    columns = {
        "headline": f'label_replace({named}, "unit", "$1", "__name__", "stepcast_scenario_headline_(.+)")',
        "low": scenario_figures("range_low"),
        "high": scenario_figures("range_high"),
        "fits": scenario_figure("fits"),
        "GPUs": scenario_figure("gpus"),
        "MFU": scenario_figure("mfu_ratio"),
        "exposed": scenario_figure("exposed_communication_seconds"),
        "cost per hour": scenario_figure("cost_usd_per_hour"),
        "evaluated": f"1000 * {scenario_figure('evaluated_timestamp_seconds')}",
        "is": f"max by ({info}) (stepcast_scenario_info{{{_SCENARIOS}}})",
    }
    panel = (
        table.Panel()
        .title("Tracked scenarios")
        .description("The newest answer of each: the headline in SI units, with the range that bounds it.")
        .datasource(_SOURCE)
        .unit("sishort")
        .span(_WIDTH)
        .height(10)
        .filterable(True)
    )
    renamed = {f"Value #{ref}": name for ref, name in zip("ABCDEFGHIJ", columns, strict=True)}
    for ref, expr in zip("ABCDEFGHIJ", columns.values(), strict=True):
        panel = panel.with_target(_cell(expr, ref))
    (headline, *others), named_by = renamed, ["basis_kind", "catalog_revision", "id", "job"]
    order = ["scenario", "kind", "model", "system", headline, "unit", *others, *named_by]
    organize = {
        "excludeByName": {"Time": True, "__name__": True, others[-1]: True},
        "renameByName": renamed | {"basis_kind": "basis", "catalog_revision": "catalogue"},
        "indexByName": {name: place for place, name in enumerate(order)},
    }
    words = {
        "0": models.ValueMappingResult(text="no", color=_AWAY),
        "1": models.ValueMappingResult(text="yes", color=_UP),
    }
    return (
        panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(models.DataTransformerConfig(id_val="organize", options=organize))
        .override_by_name(
            "fits", _override(mappings=[models.ValueMap(words)], custom__cellOptions={"type": "color-text"})
        )
        .override_by_name("MFU", _override(unit="percentunit"))
        .override_by_name("exposed", _override(unit="s"))
        .override_by_name("cost per hour", _override(unit="currencyUSD"))
        .override_by_name("evaluated", _override(unit="dateTimeAsIso"))
    )


def _tracked() -> list[Any]:
    count = f"max by (job) (stepcast_tracked_scenarios{{{_JOB}}})"
    misfit = f"count({scenario_figure('fits')} == 0) or vector(0)"
    age = f"time() - min({scenario_figure('evaluated_timestamp_seconds')})"
    more = f"max(stepcast_tracked_scenarios_truncated{{{_JOB}}})"
    about_more = "1 when more are tracked than are shown: the newest 1,000."
    bad_from_1, wide = ((None, _UP), (1, _WARN)), _WIDTH // 4
    return [
        _figure("Tracked", f"sum({count})", "short", "Scenarios that are tracked.", width=wide),
        _figure("Do not fit", misfit, "short", "In memory, of those chosen above.", *bad_from_1, width=wide),
        _figure("Oldest answer", age, "s", "Since the one that was not evaluated for longest.", width=wide),
        _figure("Left out", more, "short", about_more, *bad_from_1, width=wide),
        _table(),
        _headlines(),
    ]


def _variable(name: str, query: str, label: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .query({"qryType": 5, "query": query, "refId": f"variable-{name}"})  # 5: a classic query
        .definition(query)
        .datasource(_SOURCE)
        .multi(True)
        .include_all(True)
        .current(models.VariableOption(selected=True, text=["All"], value=["$__all"]))
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )


def build() -> models.Dashboard:
    """Return the dashboard."""
    board = (
        dashboard.Dashboard("Stepcast")
        .uid("stepcast")
        .description("Health, estimates and tracked scenarios of Stepcast. Written by dashboards/generate.py.")
        .tags(["stepcast"])
        .timezone("browser")
        .time("now-6h", "now")
        .refresh("30s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .editable()
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_variable("job", "label_values(stepcast_build_info, job)", "Job"))
    )
    for name in _SCENARIO_VARIABLES:
        query = f"label_values(stepcast_scenario_info{{{_JOB}}}, {name})"
        # All of them includes those that have no model, which is no value to list.
        board = board.with_variable(_variable(name, query, name.capitalize()).all_value(".*"))
    units = _variable("unit", "metrics(stepcast_scenario_headline_)", "Unit")
    board = board.with_variable(units.regex("/stepcast_scenario_headline_(.+)/"))
    for title, panels in (("Health", _health()), ("Estimates", _estimates()), ("Tracked scenarios", _tracked())):
        board = board.with_row(dashboard.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    built = board.build()
    for number, panel in enumerate(built.panels or [], 1):
        panel.id_val = number
    return built


def text() -> str:
    """Return the file's content."""
    return json.dumps(build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
