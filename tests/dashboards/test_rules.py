"""Scrape configuration, recording rules and alerts, by Prometheus's own checks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.architecture.sources import ROOT
from tests.prometheus_server import installed

FOLDER = ROOT / "dashboards"
RULES = sorted((FOLDER / "rules").glob("*.yml"))


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run([installed("promtool"), *arguments], capture_output=True, text=True, check=False, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_is_one_and_finds_the_rules() -> None:
    promtool("check", "config", FOLDER / "prometheus.yml")
    patterns = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))["rule_files"]
    assert sorted(path for pattern in patterns for path in FOLDER.glob(pattern)) == RULES


def test_the_rules_are_rules() -> None:
    assert len(RULES) == 2
    promtool("check", "rules", *RULES)


def test_the_rules_do_what_their_tests_say() -> None:
    promtool("test", "rules", *sorted((FOLDER / "rule_tests").glob("*.yml")))


@pytest.mark.parametrize("alert", re.findall(r"alert: (\w+)", (FOLDER / "rules/alerts.yml").read_text()))
def test_every_alert_is_seen_to_fire_and_not_to_fire(alert: str) -> None:
    tests = yaml.safe_load((FOLDER / "rule_tests/alerts.yml").read_text(encoding="utf-8"))["tests"]
    expected = [
        bool(case.get("exp_alerts"))
        for test in tests
        for case in test.get("alert_rule_test", ())
        if case["alertname"] == alert
    ]
    assert set(expected) == {True, False}
