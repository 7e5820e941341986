"""What Prometheus sees. Names and labels are few and fixed: route templates, never paths or ids.

With PROMETHEUS_MULTIPROC_DIR set (`stepcast serve` sets it) the figures are those of all workers together.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from functools import cache
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from service.planning.stores import Database

_OWN = CollectorRegistry()
_REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_ESTIMATE_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0, 10.0)
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


@cache  # finding a series costs as much as counting in it; there are few
def _request_series(method: str, route: str, status: str) -> tuple[Counter, Histogram]:
    return _requests.labels(method, route, status), _request_seconds.labels(method, route)


@cache
def _estimate_series(kind: str) -> tuple[Counter, Histogram]:
    return _estimates.labels(kind), _estimate_seconds.labels(kind)


class _ServiceState(Collector):
    """What is true now, asked at each scrape rather than remembered."""

    def __init__(self, version: str, database: Database) -> None:
        self._version = version
        self._database = database

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("stepcast_build_info", "The running build.", labels=["version", "python"])
        build.add_metric([self._version, platform.python_version()], 1)
        yield build
        up, _ = self._database.ready()
        yield GaugeMetricFamily("stepcast_database_up", "1 when the database answers with a current schema.", value=up)


def exposition(accept: str, version: str, database: Database) -> tuple[bytes, str]:
    """Return the metrics page and its content type, in the format that the scraper accepts."""
    registry = CollectorRegistry()
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(_OWN)
    registry.register(_ServiceState(version, database))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
