"""A replica under load."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import WeightDtype
from service.planning.inference_question import InferenceQuestion, resolve
from service.planning.inference_serving import REQUESTS_PER_CLIENT, serving_of

CATALOG = load_shipped_catalog()


def serving(**fields):
    whole = {"model": "llama3.1-70b", "system": "dgx-b200", "weight_dtype": WeightDtype.FP8, "engine": "trtllm"}
    asked = InferenceQuestion(**whole | fields)
    return serving_of(asked, resolve(asked, CATALOG), CATALOG)


def test_the_largest_batch_within_a_limit_is_the_last_that_meets_it():
    found = serving(tpot_slo_seconds=0.03)
    best = found.largest_within_limits()
    assert found.at(best).tpot_seconds <= 0.03 < found.at(best + 2).tpot_seconds


def test_clients_that_start_together_wait_for_each_other_once():
    """64 prompts of 8192: the mean one waits for 31.5 of them, once in ten requests."""
    found = serving(input_sequence_length=8192)
    state = found.at(64)
    extra = found.started_together(64, state).wait_seconds - state.wait_seconds
    assert extra == pytest.approx(31.5 * found.prefill_parts().seconds / REQUESTS_PER_CLIENT, rel=0.1)
    assert found.started_together(1, state).wait_seconds == state.wait_seconds


def test_stages_share_the_clients():
    """Two stages of one GPU each hold half of the layers: about twice the throughput of one with as many a stage."""
    one, two = serving(batch_size=32).at(32), serving(pipeline_parallel_size=2, batch_size=64).at(64)
    assert two.requests_per_second == pytest.approx(2 * one.requests_per_second, rel=0.1)


def test_drafting_costs_time():
    plain = serving()
    from service.core.inference.batching import decode_load
    from service.planning.inference_question import Speculation

    drafted = serving(speculative=Speculation(2, accepted_tokens=2.5, draft_cost_ratio=0.1))
    load = decode_load(1, plain.workload)
    assert drafted.step_seconds(load) == pytest.approx(1.2 * plain.step_seconds(load))
