"""Parameters, term by term, on a shape small enough for a pencil."""

from dataclasses import replace

import pytest

from service.core.transformer.architecture import (
    Bias,
    LatentAttention,
    MixtureOfExperts,
    Norm,
    Position,
    QkNorm,
    TransformerArchitecture,
)
from service.core.transformer.parameters import (
    active_parameters,
    active_parameters_without_input_embedding,
    attention_parameters,
    expert_parameters,
    mlp_parameters,
    mtp_parameters,
    parameter_terms,
    total_parameters,
)

# h = 8, two heads of 4 over one key and value head, an MLP of 16, 100 tokens, 3 layers.
SHAPE = TransformerArchitecture(
    num_layers=3,
    hidden_size=8,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=4,
    ffn_hidden_size=16,
    vocab_size=100,
)
EXPERTS = MixtureOfExperts(num_experts=4, top_k=1, expert_ffn_hidden_size=2, num_moe_layers=2, num_shared_experts=1)


def test_attention_by_hand():
    """8x8 queries, 2 x 8x4 keys and values, 8x8 output: 64 + 64 + 64."""
    assert attention_parameters(SHAPE) == 192


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ({"bias": Bias(qkv=True)}, 8 + 2 * 4),
        ({"bias": Bias(attention_output=True)}, 8),
        ({"qk_norm": QkNorm.PER_HEAD_DIM}, 2 * 4),
        ({"qk_norm": QkNorm.PER_HEAD}, 8 + 4),
        ({"attention_sinks": True}, 2),
        ({"num_key_value_heads": 2}, 2 * 8 * 4),
    ],
)
def test_what_else_attention_may_hold(change, more):
    assert attention_parameters(replace(SHAPE, **change)) == 192 + more


def test_latent_attention_by_hand():
    """q: 8x6 + 6 + 6x(2x5); kv: 8x(3+2) + 3 + 3x2x(3+4); out: 2x4x8."""
    mla = LatentAttention(q_lora_rank=6, kv_lora_rank=3, qk_nope_head_dim=3, qk_rope_head_dim=2, v_head_dim=4)
    assert attention_parameters(replace(SHAPE, mla=mla)) == (48 + 6 + 60) + (40 + 3 + 42) + 64
    uncompressed = replace(mla, q_lora_rank=0)  # 8x(2x5) in one go
    assert attention_parameters(replace(SHAPE, mla=uncompressed)) == 80 + (40 + 3 + 42) + 64


def test_an_mlp_has_two_matrices_or_three():
    assert mlp_parameters(SHAPE, 16) == 3 * 8 * 16
    assert mlp_parameters(replace(SHAPE, gated_mlp=False), 16) == 2 * 8 * 16
    assert mlp_parameters(replace(SHAPE, bias=Bias(mlp=True)), 16) == 3 * 8 * 16 + 2 * 16 + 8
    assert mlp_parameters(replace(SHAPE, bias=Bias(mlp=True), gated_mlp=False), 16) == 2 * 8 * 16 + 16 + 8


def test_the_dense_model_by_hand():
    """800 in, 3 x (192 attention + 2 x 8 norms + 384 MLP), 8 final norm, 800 out."""
    assert total_parameters(SHAPE) == 800 + 3 * (192 + 16 + 384) + 8 + 800 == 3384
    assert active_parameters(SHAPE) == 3384
    assert active_parameters_without_input_embedding(SHAPE) == 3384 - 800
    assert mtp_parameters(SHAPE) == 0


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"tie_embeddings": True}, -800),
        ({"lm_head_bias": True}, 100),
        ({"position": Position.LEARNED, "position_rows": 20}, 160),
        ({"embedding_norm": True}, 8),
        ({"final_norm": False}, -8),
        ({"norms_per_layer": 4}, 3 * 2 * 8),
        ({"norm": Norm.LAYERNORM}, 3 * 2 * 8 + 8),  # a bias for each norm
        ({"embedding_size": 4}, -2 * 400 + 2 * 4 * 8),  # half as wide at both ends, two projections
        ({"parallel_block": True}, 0),
        ({"sliding_window": 4, "num_local_attention_layers": 3}, 0),
        ({"num_mtp_layers": 1}, 0),
    ],
)
def test_one_thing_changed(change, difference):
    assert total_parameters(replace(SHAPE, **change)) == 3384 + difference


def test_experts_by_hand():
    """An expert 3 x 8 x 2 = 48; a MoE layer 4 + 1 of them and a router of 8 x 4; one dense layer is left."""
    shape = replace(SHAPE, moe=EXPERTS)
    assert expert_parameters(shape) == 48
    terms = parameter_terms(shape)
    assert (terms["routed_experts"], terms["shared_experts"], terms["router"]) == (2 * 4 * 48, 2 * 48, 2 * 32)
    assert terms["dense_mlp"] == 384
    assert total_parameters(shape) == 3384 - 2 * 384 + 2 * (5 * 48 + 32)
    assert active_parameters(shape) == total_parameters(shape) - 2 * 3 * 48  # three of four are not visited
    assert total_parameters(replace(shape, moe=replace(EXPERTS, router_bias=True))) == total_parameters(shape) + 2 * 4


def test_a_tied_table_stays_among_the_active():
    tied = replace(SHAPE, tie_embeddings=True)
    assert active_parameters_without_input_embedding(tied) == active_parameters(tied)


def test_a_prediction_module_is_a_projection_a_layer_and_three_norms():
    """2 x 64 + (192 + 16 + 384) + 3 x 8."""
    assert mtp_parameters(replace(SHAPE, num_mtp_layers=1)) == 128 + 592 + 24
    assert mtp_parameters(replace(SHAPE, num_mtp_layers=1, moe=EXPERTS)) == 128 + (192 + 16 + 5 * 48 + 32) + 24
