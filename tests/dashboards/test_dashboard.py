"""The dashboard is what its program writes, and holds together as Grafana needs it."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import generate
from tests.architecture.sources import ROOT

BOARD: dict[str, Any] = json.loads(generate.FILE.read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = BOARD["panels"]
WITH_QUERIES = [panel for panel in PANELS if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in BOARD["templating"]["list"]}


def test_the_file_is_what_the_program_writes() -> None:
    assert generate.FILE.read_text(encoding="utf-8") == generate.text(), "run `make dashboards`"


def test_the_library_reads_it_as_a_dashboard_and_loses_nothing() -> None:
    assert json.loads(json.dumps(Dashboard.from_json(BOARD), cls=JSONEncoder)) == BOARD


def test_panels_have_ids_titles_and_places_of_their_own() -> None:
    ids = [panel["id"] for panel in PANELS]
    assert sorted(set(ids)) == ids
    assert all(panel["title"] and panel["description"] for panel in WITH_QUERIES)
    boxes = [panel["gridPos"] for panel in PANELS]
    assert all(box["x"] >= 0 and box["x"] + box["w"] <= 24 and box["h"] > 0 for box in boxes)
    for one, other in combinations(boxes, 2):
        apart = [one[at] + one[size] <= other[at] or other[at] + other[size] <= one[at] for at, size in ("xw", "yh")]
        assert any(apart), (one, other)
    assert all(one["y"] <= other["y"] for one, other in pairwise(boxes))


def test_its_parts_are_health_estimates_and_tracked_scenarios() -> None:
    assert [panel["title"] for panel in PANELS if panel["type"] == "row"] == [
        "Health", "Estimates", "Tracked scenarios",
    ]  # fmt: skip


@pytest.mark.parametrize("panel", WITH_QUERIES, ids=lambda panel: panel["title"])
def test_queries_name_their_source_and_known_variables(panel: dict[str, Any]) -> None:
    assert panel["datasource"] == {"type": "prometheus", "uid": "$datasource"}
    refs = [target["refId"] for target in panel["targets"]]
    assert len(set(refs)) == len(refs) > 0
    for target in panel["targets"]:
        used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"} - {"1"}  # of label_replace
        assert used <= set(VARIABLES)
        assert "job" in used


def test_every_unit_that_a_headline_has_is_shown_as_one() -> None:
    from service.planning.tracked import UNITS

    assert set(generate._GRAFANA_UNITS) == set(UNITS)


def test_it_is_provisioned_where_compose_mounts_it() -> None:
    grafana = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["grafana"]
    mounts = dict(volume.split(":")[:2] for volume in grafana["volumes"])
    assert mounts["./dashboards/grafana"] == "/etc/grafana/provisioning"
    (provider,) = yaml.safe_load((ROOT / "dashboards/grafana/dashboards/stepcast.yml").read_text())["providers"]
    assert mounts["./dashboards/stepcast.json"] == f"{provider['options']['path']}/{generate.FILE.name}"
    (source,) = yaml.safe_load((ROOT / "dashboards/grafana/datasources/prometheus.yml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
