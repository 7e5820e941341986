"""The shape of a transformer decoder: every number that counts, memory and time are computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Activation(StrEnum):
    """The non-linearity of the MLP."""

    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    RELU = "relu"
    SQUARED_RELU = "relu2"
    SILU = "silu"


class Norm(StrEnum):
    """The normalisation; what differs here is how many vectors one holds."""

    LAYERNORM = "layernorm"  # weight and bias
    LAYERNORM_NOBIAS = "layernorm_nobias"  # weight
    RMSNORM = "rmsnorm"  # weight

    @property
    def num_vectors(self) -> int:
        """Vectors of the normalised width that one norm holds."""
        return 2 if self is Norm.LAYERNORM else 1


class Position(StrEnum):
    """How positions enter; only learned ones hold parameters."""

    LEARNED = "learned"
    ROPE = "rope"
    ALIBI = "alibi"


class QkNorm(StrEnum):
    """Normalisation of queries and keys before the scores."""

    NONE = "none"
    PER_HEAD_DIM = "per_head_dim"  # one weight vector of head_dim, shared by the heads (Qwen3, Gemma 3)
    PER_HEAD = "per_head"  # a weight vector for each head (Command R+)


@dataclass(frozen=True, slots=True)
class Bias:
    """Which matrices carry a bias vector."""

    qkv: bool = False
    attention_output: bool = False
    mlp: bool = False


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention: keys and values are kept as one compressed vector per token.

    Parameters
    ----------
    q_lora_rank : int
        Width of the compressed query; 0 when queries are not compressed.
    kv_lora_rank, qk_rope_head_dim : int
        Together the elements that the cache keeps per token and layer.
    """

    q_lora_rank: int
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int

    @property
    def qk_head_dim(self) -> int:
        """Width of one query or key head."""
        return self.qk_nope_head_dim + self.qk_rope_head_dim


@dataclass(frozen=True, slots=True)
class MixtureOfExperts:
    """The routed experts and what stands beside them.

    Parameters
    ----------
    top_k : int
        Routed experts that a token visits.
    num_shared_experts : int
        Experts that every token visits, as wide as a routed one.
    num_moe_layers : int
        Layers that have experts; the others keep the dense MLP of ``ffn_hidden_size``.
    num_dense_first_layers : int
        How many of the dense layers come first.
    router_bias : bool
        Whether the router holds one number more for each expert.
    """

    num_experts: int
    top_k: int
    expert_ffn_hidden_size: int
    num_moe_layers: int
    num_shared_experts: int = 0
    num_dense_first_layers: int = 0
    router_bias: bool = False


@dataclass(frozen=True, slots=True)
class TransformerArchitecture:
    """A decoder, as its configuration file gives it.

    Parameters
    ----------
    num_key_value_heads : int
        As many as attention heads for MHA, fewer for GQA, 1 for MQA.
    head_dim : int
        Stated, because it is not hidden_size / num_attention_heads in every family; for MLA qk_nope + qk_rope.
    ffn_hidden_size : int or None
        Width of the dense MLP; None when every layer has experts.
    norms_per_layer : int
        2 for the usual block, 1 for a parallel one with a shared norm, 4 with norms after attention and MLP too.
    position_rows : int
        Rows of a learned position table; 0 without one.
    rotary_ratio : float
        Share of each head that is rotated.
    num_local_attention_layers : int
        Layers that see only ``sliding_window`` tokens back, or only their chunk of ``attention_chunk_size``.
    embedding_size : int or None
        Width of the word embedding where it is not hidden_size; two projections then join them.
    num_mtp_layers : int
        Multi-token-prediction modules that the checkpoint holds beside the main model.
    """

    num_layers: int
    hidden_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    ffn_hidden_size: int | None
    vocab_size: int
    gated_mlp: bool = True
    activation: Activation = Activation.SILU
    norm: Norm = Norm.RMSNORM
    norms_per_layer: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    qk_norm: QkNorm = QkNorm.NONE
    position: Position = Position.ROPE
    position_rows: int = 0
    rotary_ratio: float = 1.0
    max_sequence_length: int | None = None
    sliding_window: int | None = None
    attention_chunk_size: int | None = None
    num_local_attention_layers: int = 0
    attention_sinks: bool = False
    parallel_block: bool = False
    embedding_size: int | None = None
    tie_embeddings: bool = False
    lm_head_bias: bool = False
    bias: Bias = field(default=Bias())
    mla: LatentAttention | None = None
    moe: MixtureOfExperts | None = None
    num_mtp_layers: int = 0

    @property
    def num_dense_layers(self) -> int:
        """Layers with a dense MLP."""
        return self.num_layers - (self.moe.num_moe_layers if self.moe else 0)


@dataclass(frozen=True, slots=True)
class Model:
    """A catalogue's model: its shape, and what its makers say its size is."""

    id: str
    name: str
    architecture: TransformerArchitecture
    published_parameters: int | None = None
