"""The answer about serving a model, held against published figures."""

from functools import cache
from itertools import pairwise

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import KvDtype, WeightDtype
from service.errors import StepcastError
from service.planning.inference import estimate_inference, inference_curve
from service.planning.inference_question import Disaggregation, InferenceQuestion, Speculation


@cache
def catalog():
    return load_shipped_catalog()


def question(**fields):
    whole = {"model": "llama3.3-70b", "system": "dgx-b200", "gpus": 1, "engine": "trtllm"}
    whole |= {"weight_dtype": WeightDtype.FP8, "input_sequence_length": 1000, "output_sequence_length": 1000}
    return InferenceQuestion(**whole | fields)


def ask(**fields):
    return estimate_inference(question(**fields), catalog())


def test_one_stream_on_one_b200():
    """Concurrency 4 was measured at 14.87 ms (67 tokens/s/user) with TensorRT-LLM; the roofline is 109."""
    answer = ask(batch_size=1)
    assert 60 <= answer.result.output_tokens_per_second_per_user <= 80
    assert answer.ideal.single_stream_tokens_per_second == pytest.approx(109, rel=0.05)
    assert answer.result.bound_by == "hbm"


def test_four_bits_are_no_twice_as_fast_for_one_stream():
    """1.2 times measured at low batch, where bytes alone say 1.74."""
    four, eight = (ask(batch_size=4, weight_dtype=d).result.tpot_seconds for d in (WeightDtype.NVFP4, WeightDtype.FP8))
    assert 1.0 < eight / four < 1.5


def test_eight_gpus_are_no_eight_times_as_fast():
    """2.6 times measured: 14.87 against 5.81 ms at concurrency 4."""
    one, eight = (ask(concurrency=4, gpus=n).result.tpot_seconds for n in (1, 8))
    assert 2.0 < one / eight < 3.5


@pytest.mark.parametrize(("lengths", "measured"), [((128, 128), 11253), ((128, 2048), 9925), ((128, 4096), 6319)])
def test_the_most_that_one_b200_gives_in_four_bits(lengths, measured):
    """TensorRT-LLM 0.19 overview."""
    found = ask(weight_dtype=WeightDtype.NVFP4, input_sequence_length=lengths[0], output_sequence_length=lengths[1])
    assert found.result.output_tokens_per_second == pytest.approx(measured, rel=0.35)
    assert found.range.low <= found.result.output_tokens_per_second <= found.range.high


def test_a_longer_prompt_costs_output():
    """Four H100, batch 64: 3317 tokens/s at 128/128, 843 at 2048/128."""
    short, long = (
        ask(model="llama2-70b", system="dgx-h100", gpus=4, batch_size=64, input_sequence_length=n,
            output_sequence_length=128).result.output_tokens_per_second
        for n in (128, 2048)
    )  # fmt: skip
    assert short > 2.5 * long


def test_what_does_not_fit_says_by_how_much_and_what_would():
    answer = ask(system="dgx-h100", weight_dtype=WeightDtype.BF16)
    assert not answer.result.fits
    assert answer.result.shortfall_bytes > 60e9
    assert "weight_dtype fp8" in answer.result.would_fit
    assert "tensor_parallel_size 2" in answer.result.would_fit
    assert answer.result.output_tokens_per_second == 0
    for change in ({"weight_dtype": WeightDtype.FP8}, {"gpus": 2, "tensor_parallel_size": 2}):
        assert ask(**{"system": "dgx-h100", "weight_dtype": WeightDtype.BF16} | change).result.fits


def test_limits_set_the_batch():
    answer = ask(tpot_slo_seconds=0.03, ttft_slo_seconds=1.0)
    assert answer.result.meets_slo
    assert answer.result.tpot_seconds <= 0.03
    assert 1 < answer.result.batch_size < answer.result.max_batch_size
    assert not ask(tpot_slo_seconds=0.03, batch_size=answer.result.batch_size * 2).result.meets_slo


def test_limits_that_no_batch_meets_are_an_answer():
    answer = ask(tpot_slo_seconds=0.001)
    assert answer.result.meets_slo is False
    assert "limits-cannot-be-met" in {w.code for w in answer.warnings}


def test_replicas_multiply_rates_and_not_latencies():
    one, four = ask(batch_size=16), ask(batch_size=16, gpus=4, tensor_parallel_size=1)
    assert four.result.replicas == 4
    assert four.result.output_tokens_per_second == pytest.approx(4 * one.result.output_tokens_per_second)
    assert four.result.tpot_seconds == one.result.tpot_seconds


def test_breakdowns_sum_to_their_steps():
    found = ask(batch_size=32).result.breakdown
    for step in (found.decode_step, found.prefill):
        parts = [getattr(step, name) for name in type(step).__slots__ if name != "seconds"]
        assert sum(parts) == pytest.approx(step.seconds)


def test_never_faster_than_the_roofline():
    for batch in (1, 16, 256):
        answer = ask(batch_size=batch)
        assert answer.result.tpot_seconds >= answer.ideal.tpot_seconds
        assert answer.result.output_tokens_per_second <= answer.ideal.output_tokens_per_second


def test_speculation_pays_for_one_stream_and_less_for_many():
    drafted = Speculation(draft_tokens=2, accepted_tokens=2.5)
    gains = [
        ask(batch_size=n).result.tpot_seconds / ask(batch_size=n, speculative=drafted).result.tpot_seconds
        for n in (1, 256)
    ]
    assert gains[0] > 1.8
    assert gains[1] < gains[0]


def test_disaggregation_sizes_both_sides():
    """The cache of a prompt of 8192 in fp8 is 8192 × 163,840 B = 1.34 GB: 27 ms over 50 GB/s."""
    answer = ask(input_sequence_length=8192, batch_size=32, disaggregated=Disaggregation(kv_bytes_per_second=50e9))
    found = answer.result.disaggregated
    assert found.kv_transfer_bytes == pytest.approx(8192 * 163840)
    assert found.kv_transfer_seconds == pytest.approx(0.0268, rel=0.01)
    assert found.prefill_gpus > 0


def test_the_inputs_can_be_asked_again():
    inputs = dict(ask(batch_size=8).inputs)
    parts = {"weight_dtype": WeightDtype(inputs.pop("weight_dtype")), "kv_dtype": KvDtype(inputs.pop("kv_dtype"))}
    again = estimate_inference(InferenceQuestion(**inputs | parts), catalog())
    assert again.result == ask(batch_size=8).result


def test_the_curve_rises_in_rate_and_in_latency():
    curve = inference_curve(question(), catalog())
    assert curve[0].batch_size == 1
    assert all(a.tpot_seconds <= b.tpot_seconds * 1.001 for a, b in pairwise(curve))
    assert sum(point.pareto for point in curve) >= len(curve) - 2
    assert inference_curve(question(system="dgx-h100", weight_dtype=WeightDtype.BF16), catalog()) == ()


def test_an_unmeasured_accelerator_is_less_sure():
    known, unknown = (ask(system=s, batch_size=16).range for s in ("dgx-h100", "dgx-b200"))
    assert known.basis_kind == unknown.basis_kind == "calibrated"


def test_every_problem_is_told_at_once():
    with pytest.raises(StepcastError) as refusal:
        ask(model="llama-3.3-71b", gpus=3, tensor_parallel_size=2, concurrency=4, batch_size=4)
    assert {p.pointer for p in refusal.value.problems} >= {"/model", "/concurrency"}
