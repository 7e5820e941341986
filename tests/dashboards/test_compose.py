"""compose.yaml: what is pinned, watched, kept, and open to whom. There is no engine here that could run it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from service.settings import Settings
from tests.architecture.sources import ROOT

TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
every_service = pytest.mark.parametrize("name", SERVICES)


def filled_in(text: str, **given: str) -> str:
    """Return text with ${NAME:-default} replaced."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: given.get(found[1], found[2]), str(text))


def test_it_has_the_four() -> None:
    assert set(SERVICES) == {"stepcast", "postgres", "prometheus", "grafana"}


@every_service
def test_images_are_pinned_or_built_here(name: str) -> None:
    service = SERVICES[name]
    if "build" in service:
        assert (ROOT / service["build"] / "Dockerfile").is_file()
    else:
        assert re.fullmatch(r"[\w/.-]+:v?\d+\.\d+(\.\d+)?", service["image"])


@every_service
def test_every_service_is_watched_and_started_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    assert SERVICES[name]["restart"] == "unless-stopped"
    for other, how in SERVICES[name].get("depends_on", {}).items():
        assert other in SERVICES
        assert how == {"condition": "service_healthy"}


@every_service
def test_only_this_machine_reaches_it(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", filled_in(port))


@every_service
def test_what_it_mounts_is_there_or_a_volume(name: str) -> None:
    for volume in SERVICES[name].get("volumes", ()):
        source, _, options = volume.partition(":")
        if source.startswith("."):
            assert (ROOT / source).exists()
            assert options.endswith(":ro")
        else:
            assert source in COMPOSE["volumes"]


@every_service
def test_secrets_come_from_the_environment(name: str) -> None:
    for variable, value in SERVICES[name].get("environment", {}).items():
        if re.search(r"PASSWORD|TOKEN|SECRET|URL", variable):
            assert re.search(r"\$\{\w+:-\w*\}", value), variable


def test_the_service_s_variables_are_settings() -> None:
    environment = SERVICES["stepcast"]["environment"]
    defaults = {name: filled_in(value) for name, value in environment.items()}
    settings = Settings.from_environ(defaults)
    assert settings.database_url == "postgresql+psycopg://stepcast:stepcast@postgres/stepcast"
    assert settings.allow_open
    token = "t0ken-of-ours"
    closed = {
        name: filled_in(value, STEPCAST_API_TOKENS=token, STEPCAST_ALLOW_OPEN="0")
        for name, value in environment.items()
    }
    assert set(Settings.from_environ(closed).api_tokens) == {token}
    assert not Settings.from_environ(closed).allow_open
    postgres = {name: filled_in(value) for name, value in SERVICES["postgres"]["environment"].items()}
    assert postgres == {"POSTGRES_USER": "stepcast", "POSTGRES_PASSWORD": "stepcast", "POSTGRES_DB": "stepcast"}


def test_prometheus_scrapes_the_service_by_its_name_and_port() -> None:
    scraped = yaml.safe_load((ROOT / "dashboards/prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    (found,) = (config["dns_sd_configs"] for config in scraped if config["job_name"] == "stepcast")
    (port,) = SERVICES["stepcast"]["ports"]
    assert found[0]["names"] == ["stepcast"]
    assert str(found[0]["port"]) == port.rpartition(":")[2]
