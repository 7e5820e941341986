"""What Prometheus sees. Names and labels are few and fixed: route templates, never paths; scenarios up to a limit.

With PROMETHEUS_MULTIPROC_DIR set (`stepcast serve` sets it) the figures are those of all workers together.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from service import __version__
from service.errors import StoreFull, StoreUnavailable
from service.http.patience import ask_within
from service.http.scenario_metrics import scenario_metrics
from service.planning.stores import Services
from service.planning.tracked import MOST_TRACKED, TrackedScenario

_OWN = CollectorRegistry()
_REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_ESTIMATE_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0, 10.0)
PATIENCE_SECONDS: Final = 3.0  # with the database; Prometheus itself waits 10 s, and the rest is worth having
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_requests = Counter("stepcast_http_requests_total", "Requests answered.", ["method", "route", "status"], registry=_OWN)
_request_seconds = Histogram(
    "stepcast_http_request_duration_seconds",
    "Time from a request's arrival at the application to its answer.",
    ["method", "route"],
    buckets=_REQUEST_SECONDS,
    registry=_OWN,
)
_estimates = Counter("stepcast_estimates_total", "Estimates computed.", ["kind"], registry=_OWN)
_estimate_seconds = Histogram(
    "stepcast_estimate_duration_seconds",
    "Time to compute an estimate, reading and writing it aside.",
    ["kind"],
    buckets=_ESTIMATE_SECONDS,
    registry=_OWN,
)
_connections = Gauge(
    "stepcast_database_connections",
    "Connections of the pools of all workers, as each was when it last changed.",
    ["state"],
    multiprocess_mode="livesum",
    registry=_OWN,
)


def count_request(method: str, route: str, status: str, seconds: float) -> None:
    """Count one answered request."""
    counter, histogram = _request_series(method if method in _METHODS else "other", route, status)
    counter.inc()
    histogram.observe(seconds)


def count_estimate(kind: str, seconds: float) -> None:
    """Count one computed estimate."""
    counter, histogram = _estimate_series(kind)
    counter.inc()
    histogram.observe(seconds)


def show_connections(in_use: int, idle: int) -> None:
    """Show how many connections this worker's pool has."""
    for series, value in zip(_connection_series(), (in_use, idle), strict=True):
        series.set(value)


@cache  # finding a series costs as much as counting in it; there are few
def _request_series(method: str, route: str, status: str) -> tuple[Counter, Histogram]:
    return _requests.labels(method, route, status), _request_seconds.labels(method, route)


@cache
def _estimate_series(kind: str) -> tuple[Counter, Histogram]:
    return _estimates.labels(kind), _estimate_seconds.labels(kind)


@cache  # not before a worker has one: the master would be counted too
def _connection_series() -> tuple[Gauge, Gauge]:
    return _connections.labels("in_use"), _connections.labels("idle")


class _ServiceState(Collector):
    """What is true now, asked at each scrape rather than remembered: whichever worker answers says the same."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        kept = ask_within(PATIENCE_SECONDS, lambda: _ask(self._services), _AWAY)
        labels = {
            "version": __version__,
            "engine_version": __version__,
            "catalog_revision": self._services.catalog.latest().revision,
            "python": platform.python_version(),
        }
        build = GaugeMetricFamily("stepcast_build_info", "The running build, and its catalogue.", labels=list(labels))
        build.add_metric(list(labels.values()), 1)
        yield build
        up = GaugeMetricFamily("stepcast_database_up", "1 when the database answers, with a current schema.")
        up.add_metric([], kept.database_up)
        yield up
        if kept.tracked is not None:
            yield from scenario_metrics(kept.tracked)


class _Kept(NamedTuple):
    """What only the database knows."""

    database_up: bool
    tracked: Sequence[TrackedScenario] | None


_AWAY: Final = _Kept(False, None)


def _ask(services: Services) -> _Kept:
    try:
        if not services.database.ready()[0]:
            return _AWAY
        services.catalog.current()
        return _Kept(True, services.scenarios.tracked(limit=MOST_TRACKED + 1))
    except (StoreUnavailable, StoreFull):  # it went away in between
        return _AWAY


def exposition(accept: str, services: Services) -> tuple[bytes, str]:
    """Return the metrics page and its content type, in the format that the scraper accepts."""
    registry = CollectorRegistry()
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(_OWN)
    registry.register(_ServiceState(services))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
