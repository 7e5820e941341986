"""The roofline, by hand."""

import pytest

from service.core.inference.layout import ServingLayout
from service.core.inference.roofline import (
    attention_seconds_per_context_token,
    matrix_seconds_per_token,
    step_roofline,
    streamed_weight_bytes,
)
from service.core.inference.weights import WeightDtype


def test_what_a_70b_model_streams(catalog):
    """68.45 B in the layers and 1.05 B in the head: 139 GB in bf16; the embedding is looked up."""
    shape = catalog.model("llama3.1-70b").architecture
    assert streamed_weight_bytes(shape, WeightDtype.BF16, ServingLayout(), 1) == pytest.approx(139e9, rel=0.005)
    assert streamed_weight_bytes(shape, WeightDtype.FP8, ServingLayout(), 1) == pytest.approx(70.6e9, rel=0.005)
    assert streamed_weight_bytes(shape, WeightDtype.NVFP4, ServingLayout(), 1) == pytest.approx(40.6e9, rel=0.005)


def test_a_mixture_streams_the_experts_that_are_hit(catalog):
    """One token of Mixtral hits 2 of 8 experts, many tokens all of them."""
    shape = catalog.model("mixtral-8x7b").architecture
    one, many = (streamed_weight_bytes(shape, WeightDtype.BF16, ServingLayout(), n) for n in (1, 10_000))
    experts = 32 * 8 * 3 * 4096 * 14336 * 2
    assert many - one == pytest.approx(experts * 6 / 8, rel=1e-3)


def test_two_operations_a_parameter(catalog):
    """2 × 69.5 G at 1 PFLOP/s."""
    shape = catalog.model("llama3.1-70b").architecture
    assert matrix_seconds_per_token(shape, WeightDtype.BF16, {"bf16": 1e15}) == pytest.approx(139e-6, rel=0.005)


def test_attention_has_four_operations_an_element(catalog):
    """4 × 64 × 128 at 1 PFLOP/s."""
    shape = catalog.model("llama3.1-70b").architecture
    assert attention_seconds_per_context_token(shape, {"bf16": 1e15}) == pytest.approx(4 * 64 * 128 / 1e15)


def test_one_stream_is_bound_by_memory_and_many_by_compute(catalog):
    shape = catalog.model("llama3.1-70b").architecture
    gpu = catalog.system("dgx-b200").accelerator

    def load(sequences):
        return step_roofline(
            shape, gpu, ServingLayout(), WeightDtype.FP8, 1.0, sequences=sequences, context_tokens=100.0
        )

    assert load(1).seconds == load(1).seconds_of_memory
    assert load(4096).seconds == load(4096).seconds_of_compute
