"""The steady state of continuous batching, on steps whose time is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.inference.batching import StepLoad, Workload, closed_loop, decode_load

FIXED = 0.01


def fixed(load: StepLoad) -> float:
    """Every step takes 10 ms, whatever is in it."""
    return FIXED


def by_tokens(load: StepLoad) -> float:
    """5 ms, 0.1 ms a sequence and 0.02 ms a token of a prompt."""
    return 5e-3 + 1e-4 * load.sequences + 2e-5 * load.prompt_tokens


def test_one_client_waits_for_its_own_steps_only():
    """A prompt in one step of 10 ms, then 100 steps: 1.01 s a request."""
    state = closed_loop(1, 1000, Workload(1000, 101), fixed)
    assert state.tpot_seconds == pytest.approx(FIXED)
    assert state.requests_per_second == pytest.approx(1 / 1.015, rel=0.01)
    assert state.queue_seconds == 0


def test_a_long_prompt_takes_several_steps():
    state = closed_loop(1, 1000, Workload(10_000, 101, step_tokens=2048), fixed)
    assert state.chunks == 5
    assert state.prefill_seconds == pytest.approx(5 * FIXED)


def test_prompts_stretch_the_steps_of_others():
    """64 clients: a step without prompts is 11.4 ms; some carry 1000 tokens more, 20 ms."""
    state = closed_loop(64, 1000, Workload(1000, 101), by_tokens)
    assert state.decode_step_seconds < state.tpot_seconds < state.mixed_step_seconds
    assert 0 < state.mixed_ratio < 1


def test_more_clients_than_places_queue():
    crowded, full = (closed_loop(n, 32, Workload(1000, 101), by_tokens) for n in (64, 32))
    assert crowded.requests_per_second == pytest.approx(full.requests_per_second)
    assert crowded.queue_seconds == pytest.approx(32 / full.requests_per_second)


def test_accepted_drafts_shorten_the_time_between_tokens():
    state = closed_loop(1, 10, Workload(100, 101, tokens_per_step=2.0, verified_tokens=3.0), fixed)
    assert state.tpot_seconds == pytest.approx(FIXED / 2)


def test_a_cached_prefix_is_not_computed_again():
    assert Workload(1000, 10, cached_ratio=0.75).new_input_tokens == 250
    assert Workload(1000, 10, cached_ratio=1.0).new_input_tokens == 1


def test_sequences_look_back_on_half_their_output():
    assert decode_load(8, Workload(1000, 500)) == StepLoad(8, 1250.0)


@given(st.integers(1, 500), st.integers(1, 20_000), st.integers(2, 5_000))
def test_throughput_never_exceeds_the_steps(clients, input_tokens, output_tokens):
    """Every token after a request's first takes a place in a step of at least 5 ms; latencies are never negative."""
    state = closed_loop(clients, 256, Workload(input_tokens, output_tokens, step_tokens=8192), by_tokens)
    assert state.requests_per_second * (output_tokens - 1) <= min(clients, 256) / 5e-3
    assert state.tpot_seconds >= 5e-3
    assert min(state.wait_seconds, state.queue_seconds, state.prefill_seconds) >= 0
    assert 0 <= state.mixed_ratio <= 1
