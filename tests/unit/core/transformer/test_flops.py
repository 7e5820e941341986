"""FLOPs of a step against published counts."""

import pytest

from service.core.transformer.flops import (
    attention_flops_per_token,
    forward_flops_per_token,
    hardware_flops,
    model_flops,
    mtp_flops_per_token,
)


def test_gpt2_by_hand(catalog):
    """T01 (nanoGPT, transformer_sizing.ipynb): GPT-2 124M takes 874.9 GFLOP for 1024 tokens, forward and backward."""
    shape = catalog.model("gpt2").architecture
    assert model_flops(shape, 1024, 1024, causal=False) == pytest.approx(874.9e9, rel=0.005)


def test_korthikantis_equation(catalog):
    """72 B L s h² (1 + s/6h + V/12hL) for 22B: L 48, h 6144, s 2048, V 51200, B 4: equation 7 of arXiv:2205.05198."""
    shape = catalog.model("megatron-22b").architecture
    expected = 72 * 4 * 48 * 2048 * 6144**2 * (1 + 2048 / (6 * 6144) + 51200 / (12 * 6144 * 48))
    assert model_flops(shape, 4 * 2048, 2048, causal=False) == pytest.approx(expected, rel=1e-9)


def test_recomputing_everything_is_four_thirds_of_the_layers(catalog):
    """96 B L s h² (1 + s/6h + V/16hL): Narayanan et al., SC21."""
    shape = catalog.model("megatron-22b").architecture
    expected = 96 * 4 * 48 * 2048 * 6144**2 * (1 + 2048 / (6 * 6144) + 51200 / (16 * 6144 * 48))
    found = hardware_flops(shape, 4 * 2048, 2048, causal=False, full_layers_ratio=1.0)
    assert found == pytest.approx(expected, rel=1e-9)


def test_selective_recomputation_adds_the_scores(catalog):
    shape = catalog.model("megatron-22b").architecture
    plain = hardware_flops(shape, 2048, 2048, causal=False)
    again = hardware_flops(shape, 2048, 2048, causal=False, attention_recomputed=True)
    assert again - plain == pytest.approx(2048 * attention_flops_per_token(shape, 2048, causal=False))


def test_causal_attention_is_half(catalog):
    shape = catalog.model("llama3-70b").architecture
    full = attention_flops_per_token(shape, 8192, causal=False)
    assert attention_flops_per_token(shape, 8192) == pytest.approx(full / 2)


def test_megatron_bridges_count(catalog):
    """Llama 3 70B at 8192: the source's 2353 TFLOP/s at 5243 tokens/s are 448.8 GFLOP a token, causal."""
    shape = catalog.model("llama3-70b").architecture
    assert model_flops(shape, 1, 8192) == pytest.approx(2353e12 / 5243, rel=0.002)


def test_experts_count_as_often_as_they_are_visited(catalog):
    """Mixtral: 2 of 8 experts of 3 × 4096 × 14336, 32 layers, 2 FLOPs a parameter."""
    terms = forward_flops_per_token(catalog.model("mixtral-8x7b").architecture, 4096)
    assert terms["routed_experts"] == 2 * 2 * 3 * 4096 * 14336 * 32


def test_a_module_that_predicts_more_tokens_is_a_layer_and_a_head(catalog):
    """DeepSeek-V3 with MTP counts 1.038 / 0.996 of the model without, in Megatron-Bridge's figures."""
    shape = catalog.model("deepseek-v3").architecture
    without = sum(forward_flops_per_token(shape, 4096).values())
    assert 1 + mtp_flops_per_token(shape, 4096) / without == pytest.approx(1.042, abs=0.01)
    assert mtp_flops_per_token(catalog.model("llama3-70b").architecture, 4096) == 0.0
