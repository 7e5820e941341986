"""Tokens of a layer."""

from service.core.training.layer_work import LayerWork, expert_tokens
from service.core.training.parallelism import ParallelismPlan


def test_context_parallelism_divides_tokens():
    assert LayerWork(ParallelismPlan(context_parallel_size=4), 2, 8192).tokens == 4096


def test_tokens_of_experts(catalog):
    """4096 tokens over 4 ranks, 8 experts each: 8192 copies a GPU, 4 times as many if experts are cut."""
    shape = catalog.model("qwen3-235b-a22b").architecture
    whole = LayerWork(ParallelismPlan(4, expert_parallel_size=8), 1, 4096, has_experts=True)
    cut = LayerWork(ParallelismPlan(4, expert_parallel_size=8, expert_tensor_parallel_size=4), 1, 4096)
    assert expert_tokens(shape, whole) == 8192
    assert expert_tokens(shape, cut) == 4 * 8192
    assert expert_tokens(catalog.model("llama3-8b").architecture, whole) == 0
