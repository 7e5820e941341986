"""Shapes of one GPU's matrices, by hand."""

import pytest

from service.core.transformer.matrices import dense_matrices, distinct_experts, expert_matrices, output_head
from service.core.transformer.parameters import parameter_terms


def test_llama_70b_on_two_gpus(catalog):
    """qkv (32 + 2 × 4) × 128 = 5120 wide, gate and up 2 × 28672 / 2, all 80 layers."""
    shape = catalog.model("llama3.1-70b").architecture
    found = {m.name: (m.n, m.k, m.layers) for m in dense_matrices(shape, 2)}
    assert found["qkv"] == (5120, 8192, 80)
    assert found["attention_output"] == (8192, 4096, 80)
    assert found["gate_up"] == (28672, 8192, 80)
    assert found["down"] == (8192, 14336, 80)
    assert (output_head(shape, 2).n, output_head(shape, 2).k) == (64128, 8192)


@pytest.mark.parametrize("model", ["llama3.1-70b", "llama3.1-8b", "qwen3-32b"])
def test_the_matrices_hold_the_models_parameters(catalog, model):
    shape = catalog.model(model).architecture
    terms = parameter_terms(shape)
    held = sum(m.n * m.k * m.layers for m in dense_matrices(shape, 1))
    assert held == pytest.approx(terms["attention"] + terms["dense_mlp"], rel=1e-4)


def test_experts_are_dealt_and_cut(catalog):
    """Mixtral on 4 GPUs: 2 experts a GPU whole, or 8 cut in four."""
    shape = catalog.model("mixtral-8x7b").architecture
    dealt = next(expert_matrices(shape, 4, 1))
    cut = next(expert_matrices(shape, 1, 4))
    assert (dealt.groups, dealt.n) == (2, 2 * 14336)
    assert (cut.groups, cut.n) == (8, 2 * 14336 // 4)


@pytest.mark.parametrize(
    ("experts", "top_k", "tokens", "hit"),
    [(8, 2, 1, 2), (8, 2, 4, 5.5), (128, 4, 32, 82), (256, 8, 32, 163), (256, 8, 128, 252)],
)
def test_distinct_experts(experts, top_k, tokens, hit):
    """E (1 - (1 - k/E)^n): 8 (1 - 0.75^4) = 5.47; 128 (1 - 0.96875^32) = 81.7; 256 (1 - 0.96875^128) = 251.6."""
    assert distinct_experts(experts, top_k, tokens) == pytest.approx(hit, rel=0.01)


def test_latent_attention_is_expanded_in_training(catalog):
    """DeepSeek-V3, whole: compressions 1536 + 512 + 64, queries 128 × 192, keys and values 128 × (128 + 128)."""
    shape = catalog.model("deepseek-v3").architecture
    found = {m.name: (m.n, m.k) for m in dense_matrices(shape, 1, absorbed=False) if m.term == "attention"}
    assert found == {
        "latent_down": (2112, 7168),
        "query_up": (24576, 1536),
        "key_value_up": (32768, 512),
        "attention_output": (7168, 16384),
    }
