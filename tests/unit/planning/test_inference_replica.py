"""Names resolved to what times a step."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import WeightDtype
from service.planning.inference_question import InferenceQuestion, resolve
from service.planning.inference_replica import replica_of

CATALOG = load_shipped_catalog()


def replica(**fields):
    asked = InferenceQuestion(
        **{"model": "llama3.1-70b", "system": "dgx-h100", "weight_dtype": WeightDtype.FP8} | fields
    )
    return replica_of(asked, resolve(asked, CATALOG), CATALOG)


def test_one_gpu_has_nobody_to_reduce_with():
    assert replica().all_reduce_seconds(16384.0, True) == 0.0


@pytest.mark.parametrize("engine", ["trtllm", "vllm", "sglang", "generic"])
def test_small_all_reduces_are_those_of_the_engines_own_kernels(engine):
    """16 KiB on eight H100: 3.5 to 10 us from a graph, where NCCL takes 16 and more."""
    seconds = replica(engine=engine, tensor_parallel_size=8).all_reduce_seconds(16384.0, True)
    assert 2e-6 < seconds < 1.2e-5


def test_experts_dealt_to_attention_copies_exchange_tokens():
    found = replica(model="deepseek-r1", system="dgx-h200", tensor_parallel_size=1, attention_data_parallel_size=8)
    assert found.exchange_seconds(64.0) > 0
    assert replica(model="deepseek-r1", system="dgx-h200", tensor_parallel_size=8).exchange_seconds is None
