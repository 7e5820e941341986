"""The shape of a model."""

from __future__ import annotations

from marshmallow import fields

from service.catalog.schemas.entry import EntrySchema, StrictSchema
from service.catalog.schemas.fields import Count, Flag, OneOf, Ratio, Text
from service.core.transformer.architecture import Activation, Norm, Position, QkNorm

MAX_WIDTH = 10_000_000
MAX_PARAMETERS = 10_000_000_000_000_000


class BiasSchema(StrictSchema):
    """Which matrices carry a bias vector."""

    qkv = Flag()
    attention_output = Flag()
    mlp = Flag()


class MixtureOfExpertsSchema(StrictSchema):
    """Routed experts, the shared ones beside them, and which layers have them."""

    num_experts = Count(high=100_000, required=True)
    top_k = Count(high=100_000, required=True)
    num_shared_experts = Count(low=0, high=1000)
    expert_ffn_hidden_size = Count(high=MAX_WIDTH, required=True)
    num_moe_layers = Count(high=10_000, required=True)
    num_dense_first_layers = Count(low=0, high=10_000)
    layer_pattern = Text()
    router_bias = Flag()


class LatentAttentionSchema(StrictSchema):
    """Multi-head latent attention (MLA)."""

    q_lora_rank = Count(low=0, high=MAX_WIDTH)  # 0: queries are not compressed
    kv_lora_rank = Count(high=MAX_WIDTH, required=True)
    qk_nope_head_dim = Count(high=100_000, required=True)
    qk_rope_head_dim = Count(high=100_000, required=True)
    v_head_dim = Count(high=100_000, required=True)


class ModelSchema(EntrySchema):
    """A transformer decoder, by the numbers of its configuration file."""

    family = Text(max_length=50)
    release_year = Count(low=1990, high=2100)
    num_layers = Count(high=10_000, required=True)
    hidden_size = Count(high=MAX_WIDTH, required=True)
    num_attention_heads = Count(high=100_000, required=True)
    num_key_value_heads = Count(high=100_000)
    head_dim = Count(high=100_000)
    ffn_hidden_size = Count(high=MAX_WIDTH)
    gated_mlp = Flag()
    activation = OneOf(tuple(Activation))
    norm = OneOf(tuple(Norm))
    norms_per_layer = Count(low=0, high=16)
    final_norm = Flag()
    embedding_norm = Flag()
    qk_norm = OneOf(tuple(QkNorm))
    position = OneOf(tuple(Position))
    position_rows = Count(high=100_000_000)
    rotary_ratio = Ratio(0, 1)
    max_sequence_length = Count(high=1_000_000_000)
    sliding_window = Count(high=1_000_000_000)
    attention_chunk_size = Count(high=1_000_000_000)
    num_local_attention_layers = Count(high=10_000)
    attention_sinks = Flag()
    parallel_block = Flag()
    vocab_size = Count(high=100_000_000, required=True)
    embedding_size = Count(high=MAX_WIDTH)
    tie_embeddings = Flag()
    lm_head_bias = Flag()
    bias = fields.Nested(BiasSchema)
    mla = fields.Nested(LatentAttentionSchema)
    moe = fields.Nested(MixtureOfExpertsSchema)
    num_mtp_layers = Count(low=0, high=100)
    parameters_published = Count(high=MAX_PARAMETERS)
    published_is_label = Text()
    active_parameters_published = Count(high=MAX_PARAMETERS)
    active_published_is_label = Text()
    active_excludes_embedding = Flag()
