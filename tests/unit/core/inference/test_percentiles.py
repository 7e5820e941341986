"""Percentiles of latencies on a state that is known."""

import dataclasses
import math

import pytest

from service.core.inference.batching import SteadyState, Workload
from service.core.inference.percentiles import end_to_end_percentiles, tpot_percentiles, ttft_percentiles

STATE = SteadyState(8, 8, 0.01, 0.03, 0.25, 1, 1.0, 0.015, 0.015, 0.1, 0.2, 0.0, 5.0)


def test_the_wait_is_exponential():
    """Prefill 0.1 s and a wait of mean 0.2 s: the median is 0.1 + 0.2 ln 2, and 99 of 100 within 0.1 + 0.2 ln 100."""
    found = ttft_percentiles(STATE, 0.0)
    assert found.p50 == pytest.approx(0.1 + 0.2 * math.log(2), rel=1e-3)
    assert found.p99 == pytest.approx(0.1 + 0.2 * math.log(100), rel=1e-3)


def test_nobody_waits_where_there_is_no_wait():
    found = ttft_percentiles(dataclasses.replace(STATE, wait_seconds=0.0), 0.0)
    assert found.p50 == pytest.approx(0.1, rel=1e-3)
    assert found.p99 == pytest.approx(0.1, rel=1e-3)


def test_the_time_between_tokens_spreads_with_the_prompts_met():
    """20 ms × sqrt(0.25 × 0.75 / 100) = 0.87 ms a standard deviation; 2.326 of them at the 99th percentile."""
    found = tpot_percentiles(STATE, Workload(100, 101))
    assert found.p50 == pytest.approx(0.015)
    assert found.p99 == pytest.approx(0.015 + 2.326 * 0.02 * math.sqrt(0.25 * 0.75 / 100), rel=1e-3)


def test_end_to_end_adds_the_output():
    """0.1 s, a wait of mean 0.2 s and 100 × 15 ms."""
    found = end_to_end_percentiles(STATE, Workload(100, 101), 0.0)
    assert found.p50 == pytest.approx(1.6 + 0.2 * math.log(2), rel=1e-3)


def test_percentiles_rise():
    for found in (ttft_percentiles(STATE, 0.5), end_to_end_percentiles(STATE, Workload(100, 101), 0.5)):
        assert found.p50 < found.p90 < found.p99
