"""Public questions about serving with a known answer, each by its case id."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.layout import ServingLayout
from service.core.inference.roofline import step_roofline
from service.core.inference.weights import KvDtype, WeightDtype
from service.core.transformer.kv_cache import kv_bytes_per_token, kv_sequence_bytes
from service.errors import StepcastError
from service.planning.inference import estimate_inference
from service.planning.inference_question import InferenceQuestion


@cache
def catalog():
    return load_shipped_catalog()


def ask(**fields):
    return estimate_inference(InferenceQuestion(**fields), catalog())


def problems(**fields):
    with pytest.raises(StepcastError) as refusal:
        ask(**fields)
    return refusal.value.problems


def test_i03_one_b200_and_a_70b_model():
    """Roofline of one stream 54.6, 109 and 190 within 5 %; the most in four bits within 35 %; bf16 fits, barely."""
    whole = {"model": "llama3.3-70b", "system": "dgx-b200", "gpus": 1, "engine": "trtllm"}
    for dtype, bound in ((WeightDtype.BF16, 54.6), (WeightDtype.FP8, 109), (WeightDtype.NVFP4, 190)):
        answer = ask(**whole, weight_dtype=dtype, batch_size=1, input_sequence_length=128, output_sequence_length=128)
        assert answer.ideal.single_stream_tokens_per_second == pytest.approx(bound, rel=0.05)
        assert answer.result.fits
    for out, measured in ((128, 11253), (2048, 9925), (4096, 6319)):
        answer = ask(**whole, weight_dtype=WeightDtype.NVFP4, input_sequence_length=128, output_sequence_length=out)
        assert answer.result.output_tokens_per_second == pytest.approx(measured, rel=0.35)
        assert answer.inputs["batch_size"] == "max"


@pytest.mark.parametrize(("lengths", "measured"), [((128, 128), 3317), ((2048, 128), 843)])
def test_i07_llama_70b_on_four_h100(lengths, measured):
    """TensorRT-LLM 0.5, fp8, batch 64, within 35 %."""
    answer = ask(
        model="llama2-70b", system="dgx-h100", gpus=4, engine="trtllm", weight_dtype=WeightDtype.FP8, batch_size=64,
        input_sequence_length=lengths[0], output_sequence_length=lengths[1],
    )  # fmt: skip
    assert answer.result.output_tokens_per_second == pytest.approx(measured, rel=0.35)


def test_i08_int8_on_eight_chips_of_810_gb_a_second():
    """KV 163,840 B a token; 32 × 8192 of them and the weights over 6.48 TB/s: 17.2 ms, 1,870 tokens/s, in the core."""
    shape = catalog().model("llama3-70b").architecture
    assert kv_bytes_per_token(shape, 1) == 163840
    cache_bytes = 32 * kv_sequence_bytes(shape, 8192, 1)
    step = (70e9 + cache_bytes) / (8 * 0.81e12)
    assert step == pytest.approx(17.2e-3, rel=0.02)
    assert 32 / step == pytest.approx(1870, rel=0.03)
    assert (70e9 + cache_bytes) / 1e9 == pytest.approx(112, rel=0.02)


def test_m07_the_cache_of_a_token_on_each_of_eight_gpus():
    """126 layers × 2 × one of eight heads × 128 × 2 B = 64,512 B; 131,072 tokens take 7.875 GiB a GPU."""
    shape = catalog().model("llama3.1-405b").architecture
    assert kv_bytes_per_token(shape, 2, 8) == 64512
    assert kv_sequence_bytes(shape, 131072, 2, 8) / 2**30 == pytest.approx(7.875, rel=0.001)
    answer = ask(
        model="llama3.1-405b", system="dgx-h100", gpus=8, engine="vllm", weight_dtype=WeightDtype.FP8,
        kv_dtype=KvDtype.BF16, input_sequence_length=130_000, output_sequence_length=1000,
        chunked_prefill_tokens=131_072,
    )  # fmt: skip
    assert not answer.result.fits
    assert any(change.startswith("input_sequence_length") for change in answer.result.would_fit)


def test_v01_heads_that_do_not_divide():
    """52 heads on 8 or 3: the valid sizes are listed."""
    found = [p for n in (3, 7) for p in problems(model="llama3.1-8b", system="dgx-h100", gpus=n)]
    assert {p.pointer for p in found} == {"/tensor_parallel_size"}
    assert found[0].allowed == [1, 2, 4, 8, 16, 32]


def test_v03_expert_width_that_cuts_a_block():
    """1536 / 8 = 192 is no multiple of 128: refused at 8, taken at 4, and at 8 with experts left whole."""
    whole = {
        "model": "qwen3-235b-a22b",
        "system": "dgx-h200",
        "weight_dtype": WeightDtype.FP8,
        "weight_group_size": 128,
    }
    found = problems(**whole, gpus=8)
    assert any("192" in p.message for p in found)
    assert ask(**whole, gpus=4).result.max_batch_size >= 0
    assert ask(**whole, gpus=8, expert_parallel_size=8).result.fits


def test_v08_heads_and_experts_are_both_told():
    """256 experts and 128 heads on 3 GPUs."""
    pointers = {p.pointer for p in problems(model="deepseek-r1", system="dgx-h200", gpus=3, expert_parallel_size=3)}
    assert pointers == {"/tensor_parallel_size", "/expert_parallel_size"}


def test_the_roofline_of_a_step_is_bytes_over_bandwidth():
    """Llama 70B in bf16, one sequence of no context: 139 GB over 3.35 TB/s is 41.5 ms."""
    shape, gpu = catalog().model("llama3-70b").architecture, catalog().system("dgx-h100").accelerator
    load = step_roofline(shape, gpu, ServingLayout(), WeightDtype.BF16, 2.0, sequences=1, context_tokens=0.0)
    assert load.seconds == pytest.approx(41.5e-3, rel=0.01)
