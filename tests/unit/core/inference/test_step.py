"""A step's parts: what must hold of them, and kernels counted by hand."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.batching import StepLoad
from service.core.inference.roofline import step_roofline
from service.core.inference.step import StepParts, step_parts
from service.core.inference.weights import WeightDtype
from service.core.kernels.gemm import gemm_seconds
from service.planning.inference_question import InferenceQuestion, resolve
from service.planning.inference_replica import replica_of

CATALOG = load_shipped_catalog()


def replica(**fields):
    whole = {"model": "llama3.1-70b", "system": "dgx-h100", "tensor_parallel_size": 4, "weight_dtype": WeightDtype.FP8}
    question = InferenceQuestion(**whole | fields)
    return replica_of(question, resolve(question, CATALOG), CATALOG)


def test_parts_sum_to_the_step():
    assert StepParts(1, 2, 3, 4, 5, 6, 7, 8, 9).seconds == 45


def test_matrices_are_the_kernels_of_every_layer():
    found = replica()
    parts = step_parts(StepLoad(8, 1000.0), found)
    by_hand = sum(m.layers * gemm_seconds(8, m.n, m.k, found.quantised) for m in found.dense)
    assert parts.matrices == pytest.approx(found.engine.matrix_ratio * by_hand)


def test_a_dense_model_on_one_gpu_has_no_experts_and_no_network():
    parts = step_parts(StepLoad(8, 1000.0), replica(model="llama3.1-8b", tensor_parallel_size=1))
    assert parts.experts == 0
    assert parts.communication == 0
    assert parts.prefill_attention == 0


@pytest.mark.parametrize("engine", ["trtllm", "vllm", "sglang", "generic"])
@pytest.mark.parametrize("sequences", [1, 16, 256])
def test_never_faster_than_the_roofline(engine, sequences):
    found = replica(engine=engine)
    step = step_parts(StepLoad(sequences, 2000.0), found).seconds
    bound = step_roofline(
        found.architecture, CATALOG.system("dgx-h100").accelerator, found.layout, WeightDtype.FP8, 1.0,
        sequences=sequences, context_tokens=2000.0,
    )  # fmt: skip
    assert step >= bound.seconds


def test_more_work_is_never_faster():
    found = replica()
    times = [step_parts(StepLoad(n, 1000.0), found).seconds for n in (1, 2, 8, 32, 128, 512)]
    assert times == sorted(times)
    longer = [step_parts(StepLoad(8, context), found).seconds for context in (100.0, 1000.0, 100_000.0)]
    assert longer == sorted(longer)


def test_experts_hit_cost_more_than_experts_idle():
    found = replica(model="mixtral-8x7b", tensor_parallel_size=2)
    assert step_parts(StepLoad(32, 1000.0), found).experts > step_parts(StepLoad(1, 1000.0), found).experts > 0
