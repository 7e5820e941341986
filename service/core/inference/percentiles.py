"""Latencies as percentiles: prompts differ in length, arrivals are random, and a step may carry a prompt or not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from service.core.inference.batching import SteadyState, Workload

_LENGTHS = (-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9)  # midpoints of ten equal parts of the spread
_HALVINGS = 30
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The times that half, nine of ten and 99 of 100 requests stay within. [s]"""

    p50: float
    p90: float
    p99: float


def ttft_percentiles(state: SteadyState, length_spread: float) -> Percentiles:
    r"""Return percentiles of the time to the first token.

    .. math:: T = T_{queue} + W + (1 + s u)\, T_{prefill}, \quad W \sim Exp(T_{wait}), \; u \sim U(-1, 1)

    Parameters
    ----------
    state : SteadyState
        Means of the waits and of the prefill. [s]
    length_spread : float
        s, half the spread of prompt lengths over their mean. [-]

    Assumptions
    -----------
    Prefill grows with the prompt; the wait's tail is that of a random arrival at a busy server.

    Source
    ------
    Kleinrock, "Queueing Systems" volume 1, section 5.6: waits of M/G/1 fall off exponentially.
    """
    fixed = state.queue_seconds
    prefills = [state.prefill_seconds * (1 + length_spread * u) for u in _LENGTHS]
    wait = state.wait_seconds

    def share_within(seconds: float) -> float:
        return sum(_exponential(seconds - fixed - p, wait) for p in prefills) / len(prefills)

    return _percentiles(share_within, fixed + max(prefills) + 8 * wait)


def tpot_percentiles(state: SteadyState, workload: Workload) -> Percentiles:
    r"""Return percentiles, over requests, of the mean time between tokens.

    .. math:: \sigma = (x - d) \sqrt{f (1 - f) / n_d}

    Parameters
    ----------
    state : SteadyState
        d, x and f. [s]
    workload : Workload
        n_d decode steps of a request. [-]

    Assumptions
    -----------
    Whether a step carries a prompt is independent from step to step; the mean of many is normal.

    Source
    ------
    The central limit theorem, for a step that is x with probability f and d without.
    """
    f = state.mixed_ratio
    extra = max(0.0, state.mixed_step_seconds - state.decode_step_seconds)
    deviation = extra * math.sqrt(f * (1 - f) / max(1.0, workload.decode_steps)) / workload.tokens_per_step
    floor = state.decode_step_seconds / workload.tokens_per_step
    p50, p90, p99 = (max(floor, state.tpot_seconds + _NORMAL.inv_cdf(q) * deviation) for q in (0.5, 0.9, 0.99))
    return Percentiles(p50, p90, p99)


def end_to_end_percentiles(state: SteadyState, workload: Workload, length_spread: float) -> Percentiles:
    r"""Return percentiles of the time from request to last token.

    .. math:: T = T_{first} + (1 + s u)\, (O - 1)\, T_{POT}

    Parameters
    ----------
    state : SteadyState
        Means of the waits, the prefill and the step. [s]
    workload : Workload
        O, mean output. [tokens]
    length_spread : float
        s, half the spread of output lengths over their mean. [-]

    Assumptions
    -----------
    Lengths of input and output are independent; the prefill is taken at its mean, as the output outweighs it.

    Source
    ------
    Definition; waits as in ``ttft_percentiles``.
    """
    tokens = max(0.0, workload.output_tokens - 1)
    fixed, wait = state.queue_seconds + state.prefill_seconds, state.wait_seconds
    outputs = [tokens * state.tpot_seconds * (1 + length_spread * u) for u in _LENGTHS]

    def share_within(seconds: float) -> float:
        return sum(_exponential(seconds - fixed - o, wait) for o in outputs) / len(outputs)

    return _percentiles(share_within, fixed + max(outputs) + 8 * wait)


def _exponential(seconds: float, mean: float) -> float:
    if seconds < 0:
        return 0.0
    return 1.0 if mean <= 0 else 1 - math.exp(-seconds / mean)


def _percentiles(share_within: Callable[[float], float], most: float) -> Percentiles:
    p50, p90, p99 = (_least(share_within, q, most) for q in (0.5, 0.9, 0.99))
    return Percentiles(p50, p90, p99)


def _least(share_within: Callable[[float], float], share: float, most: float) -> float:
    """The least time that holds a share of the requests, by bisection."""
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if share_within(middle) >= share else (middle, high)
    return high
