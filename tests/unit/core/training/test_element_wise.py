"""Bytes between multiplications, counted by hand."""

import pytest

from service.core.training.element_wise import element_wise_bytes
from service.core.training.layer_work import LayerWork
from service.core.training.parallelism import ParallelismPlan


def test_llama_8b(catalog):
    """One token: 2 norms 8 h + 2 residuals 12 h = 20 × 4096; rope 4 × 40 × 128; SwiGLU 6 × 14336."""
    work = LayerWork(ParallelismPlan(), 1, 1)
    found = element_wise_bytes(catalog.model("llama3.1-8b").architecture, work)
    assert found.forward == 20 * 4096 + 4 * 40 * 128 + 6 * 14336
    assert found.backward == (16 + 8) * 4096 + 4 * 40 * 128 + 10 * 14336


@pytest.mark.parametrize("sequence", [False, True])
def test_sequence_parallelism_divides_the_norms(catalog, sequence):
    shape = catalog.model("llama3.1-8b").architecture
    work = LayerWork(ParallelismPlan(8, sequence_parallel=sequence), 1, 8)
    between = 20 * 4096 * (1 if sequence else 8)
    assert element_wise_bytes(shape, work).forward == between + 4 * 40 * 128 + 6 * 14336


def test_unfused_scores_and_dropout(catalog):
    """A sequence of 2048: 64 heads × 2048 scores a token, 4 bytes for softmax and 5 for dropout; 2 h of masks."""
    shape = catalog.model("megatron-22b").architecture
    fused = element_wise_bytes(shape, LayerWork(ParallelismPlan(), 1, 2048)).forward
    unfused = element_wise_bytes(shape, LayerWork(ParallelismPlan(), 1, 2048, dropout=True), fused_attention=False)
    assert unfused.forward - fused == 2048 * (64 * 2048 * 9 + 2 * 6144)


def test_experts_move_copies(catalog):
    """Mixtral: 2 experts, 2 × 2 × 4 × h of copies, 6 × 2 × 14336 of activations."""
    shape = catalog.model("mixtral-8x7b").architecture
    found = element_wise_bytes(shape, LayerWork(ParallelismPlan(), 1, 1, has_experts=True))
    assert found.forward == 20 * 4096 + 4 * 40 * 128 + 2 * 6 * 14336 + 2 * 2 * 4 * 4096
