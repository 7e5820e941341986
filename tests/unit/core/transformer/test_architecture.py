"""The shape: what follows from it by counting."""

from service.core.transformer.architecture import LatentAttention, MixtureOfExperts, Norm, TransformerArchitecture

SHAPE = {
    "num_layers": 4,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "ffn_hidden_size": 128,
    "vocab_size": 1000,
}


def test_a_layer_norm_holds_a_bias_as_well():
    assert [norm.num_vectors for norm in (Norm.LAYERNORM, Norm.LAYERNORM_NOBIAS, Norm.RMSNORM)] == [2, 1, 1]


def test_layers_without_experts_are_dense():
    moe = MixtureOfExperts(num_experts=8, top_k=2, expert_ffn_hidden_size=32, num_moe_layers=3)
    assert TransformerArchitecture(**SHAPE).num_dense_layers == 4
    assert TransformerArchitecture(**SHAPE, moe=moe).num_dense_layers == 1


def test_a_latent_query_head_has_both_parts():
    assert LatentAttention(0, 512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128).qk_head_dim == 192
