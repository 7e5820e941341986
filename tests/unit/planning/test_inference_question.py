"""Questions about serving, resolved: defaults, and what contradicts itself."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import KvDtype, WeightDtype
from service.errors import StepcastError
from service.planning.inference_question import InferenceQuestion, Speculation, resolve

CATALOG = load_shipped_catalog()


def ask(**fields):
    return resolve(InferenceQuestion(**{"model": "llama3.1-70b", "system": "dgx-h100"} | fields), CATALOG)


def test_tensor_parallelism_takes_what_the_rest_leaves():
    assert ask(gpus=8, pipeline_parallel_size=2).layout.tensor_parallel_size == 4
    assert ask(gpus=8, tensor_parallel_size=2).replicas == 4
    assert ask().gpus == 1


def test_experts_are_dealt_where_the_attention_is_copied():
    layout = ask(model="deepseek-r1", gpus=8, tensor_parallel_size=1, attention_data_parallel_size=8).layout
    assert layout.expert_parallel_size == 8


def test_the_cache_is_fp8_beside_fp8_weights():
    assert ask(weight_dtype=WeightDtype.FP8).kv_dtype is KvDtype.FP8
    assert ask().kv_dtype is KvDtype.BF16
    assert ask(system="dgx-a100", weight_dtype=WeightDtype.FP16).kv_dtype is KvDtype.FP16


def test_what_a_drafted_step_yields():
    """1 + 0.8 + 0.64 with two drafts that are right four times in five."""
    assert Speculation(2, acceptance_ratio=0.8).yielded_tokens == pytest.approx(2.44)
    assert Speculation(2, accepted_tokens=2.5).yielded_tokens == 2.5


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"batch_size": 4, "concurrency": 4}, "/concurrency"),
        ({"tpot_slo_seconds": 0.0}, "/tpot_slo_seconds"),
        ({"speculative": Speculation(2, accepted_tokens=5.0)}, "/speculative/accepted_tokens"),
        ({"tensor_parallel_size": 16}, "/gpus_per_node"),
    ],
)
def test_contradictions_are_named(fields, pointer):
    if pointer == "/gpus_per_node":
        assert ask(gpus=16, **fields).layout.gpus == 16
        return
    with pytest.raises(StepcastError) as refusal:
        ask(**fields)
    assert pointer in {p.pointer for p in refusal.value.problems}
