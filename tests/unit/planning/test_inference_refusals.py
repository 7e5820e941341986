"""What cannot be served at all, with every reason and the nearest size that works."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import KvDtype, WeightDtype
from service.errors import StepcastError
from service.planning.inference_question import InferenceQuestion, resolve
from service.planning.inference_refusals import divisors, nearest_of

CATALOG = load_shipped_catalog()


def problems(**fields):
    with pytest.raises(StepcastError) as refusal:
        resolve(InferenceQuestion(**{"model": "llama3.1-70b", "system": "dgx-h100"} | fields), CATALOG)
    return {p.pointer: p for p in refusal.value.problems}


def test_divisors_and_nearest():
    assert divisors(52) == [1, 2, 4, 13, 26, 52]
    assert nearest_of([1, 2, 4], 3) == 2
    assert nearest_of([], 3) is None


def test_heads_must_divide():
    found = problems(gpus=3)["/tensor_parallel_size"]
    assert found.allowed == [1, 2, 4, 8, 16, 32, 64]
    assert found.suggestion == 2


def test_the_accelerator_must_have_the_format():
    assert problems(weight_dtype=WeightDtype.NVFP4)["/weight_dtype"].suggestion == "fp8"
    assert "/kv_dtype" in problems(system="dgx-a100", kv_dtype=KvDtype.FP8)


def test_a_context_beyond_the_model():
    found = problems(input_sequence_length=200_000)["/input_sequence_length"]
    assert found.suggestion == 131_072 - 1024


def test_more_stages_than_layers():
    assert (
        problems(gpus=128, pipeline_parallel_size=128, tensor_parallel_size=1)["/pipeline_parallel_size"].suggestion
        == 80
    )


def test_a_dense_model_has_no_experts_to_deal():
    assert problems(gpus=8, expert_parallel_size=2)["/expert_parallel_size"].suggestion == 1
