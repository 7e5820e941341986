"""The matrix multiplications of a model on one GPU, as serving engines and training frameworks fuse them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from service.core.transformer.architecture import LatentAttention, TransformerArchitecture


@dataclass(frozen=True, slots=True)
class Matrix:
    """One weight matrix as one GPU multiplies it.

    Parameters
    ----------
    term : str
        Which of ``parameter_terms`` it belongs to: that decides its number format.
    n, k : int
        Width of the output and of the reduction, this GPU's part.
    layers : int
        How often it comes in a step.
    groups : int
        Matrices in one launch, each with its own rows: 1, or the heads of absorbed latent attention.
    """

    name: str
    term: str
    n: int
    k: int
    layers: int
    groups: int = 1


def dense_matrices(
    architecture: TransformerArchitecture, tensor_parallel_size: int, *, absorbed: bool = True
) -> Iterator[Matrix]:
    r"""Yield every matrix but the routed experts' and the output head.

    .. math:: (n, k) = \left(\frac{(n_h + 2 n_{kv}) d}{t}, h\right), \left(h, \frac{n_h d}{t}\right),
        \left(\frac{m f}{t}, h\right), \left(h, \frac{f}{t}\right)

    Parameters
    ----------
    architecture : TransformerArchitecture
        h hidden_size, n_h and n_kv heads of d, f MLP width, m 2 if gated. [-]
    tensor_parallel_size : int
        t: columns of the first matrix of a pair, rows of the second. [-]
    absorbed : bool
        Latent attention (MLA) on the compressed cache, as serving does it; False: keys and values are expanded, as
        training does it.

    Source
    ------
    Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3; gate and up, and query, key and value, in one launch.
    MLA: DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.
    """
    a, t, h = architecture, tensor_parallel_size, architecture.hidden_size
    gate = 2 if a.gated_mlp else 1
    if a.mla is not None:
        yield from _absorbed_matrices(a, a.mla, t) if absorbed else _latent_matrices(a, a.mla, t)
    else:
        heads, kv_heads = a.num_attention_heads // t, math.ceil(a.num_key_value_heads / t)
        yield Matrix("qkv", "attention", (heads + 2 * kv_heads) * a.head_dim, h, a.num_layers)
        yield Matrix("attention_output", "attention", h, heads * a.head_dim, a.num_layers)
    if a.num_dense_layers and a.ffn_hidden_size:
        yield Matrix("gate_up", "dense_mlp", gate * a.ffn_hidden_size // t, h, a.num_dense_layers)
        yield Matrix("down", "dense_mlp", h, a.ffn_hidden_size // t, a.num_dense_layers)
    if a.moe is not None:
        yield Matrix("router", "router", a.moe.num_experts, h, a.moe.num_moe_layers)
        if a.moe.num_shared_experts:
            width = a.moe.num_shared_experts * a.moe.expert_ffn_hidden_size
            yield Matrix("shared_gate_up", "shared_experts", max(1, gate * width // t), h, a.moe.num_moe_layers)
            yield Matrix("shared_down", "shared_experts", h, max(1, width // t), a.moe.num_moe_layers)


def expert_matrices(
    architecture: TransformerArchitecture, expert_parallel_size: int, expert_tensor_parallel_size: int
) -> Iterator[Matrix]:
    r"""Yield the two grouped multiplications of one GPU's routed experts; nothing for a dense model.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    expert_parallel_size : int
        e: E / e experts are on a GPU. [-]
    expert_tensor_parallel_size : int
        GPUs that share one expert. [-]

    Source
    ------
    Gale et al., "MegaBlocks", arXiv:2211.15841, section 4: one launch for all experts of a GPU.
    """
    a = architecture
    if a.moe is None:
        return
    gate = 2 if a.gated_mlp else 1
    width = a.moe.expert_ffn_hidden_size
    local, cut = a.moe.num_experts // expert_parallel_size, expert_tensor_parallel_size
    yield Matrix("expert_gate_up", "routed_experts", gate * width // cut, a.hidden_size, a.moe.num_moe_layers, local)
    yield Matrix("expert_down", "routed_experts", a.hidden_size, max(1, width // cut), a.moe.num_moe_layers, local)


def output_head(architecture: TransformerArchitecture, tensor_parallel_size: int) -> Matrix:
    """Return the output head: the vocabulary is cut.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    tensor_parallel_size : int
        GPUs that share the vocabulary. [-]

    Source
    ------
    Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3.
    """
    a = architecture
    n = math.ceil(a.vocab_size / tensor_parallel_size)
    return Matrix("output_head", "output_head", n, a.embedding_size or a.hidden_size, 1)


def distinct_experts(num_experts: int, top_k: int, tokens: float) -> float:
    r"""Return how many experts some tokens visit in all, expected under uniform routing.

    .. math:: E_{hit} = E \left(1 - (1 - k/E)^{n}\right)

    Parameters
    ----------
    num_experts : int
        E. [-]
    top_k : int
        k, experts of a token. [-]
    tokens : float
        n. [tokens]

    Assumptions
    -----------
    Tokens choose independently and evenly. Real routing is skewed: fewer experts are hit, the fullest has more.

    Source
    ------
    Definition: each expert is missed by all n tokens with probability (1 - k/E)^n.
    """
    return float(num_experts * (1 - (1 - top_k / num_experts) ** tokens))


def _latent_matrices(a: TransformerArchitecture, mla: LatentAttention, t: int) -> Iterator[Matrix]:
    """Compressions are whole on every GPU, expansions cut by heads."""
    h, heads, num_layers = a.hidden_size, a.num_attention_heads // t, a.num_layers
    yield Matrix("latent_down", "attention", mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim, h, num_layers)
    yield Matrix("query_up", "attention", heads * mla.qk_head_dim, mla.q_lora_rank or h, num_layers)
    width = heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    yield Matrix("key_value_up", "attention", width, mla.kv_lora_rank, num_layers)
    yield Matrix("attention_output", "attention", h, heads * mla.v_head_dim, num_layers)


def _absorbed_matrices(a: TransformerArchitecture, mla: LatentAttention, t: int) -> Iterator[Matrix]:
    """Queries go through the key expansion, and results through the value expansion: the cache stays compressed."""
    h, heads, num_layers = a.hidden_size, a.num_attention_heads // t, a.num_layers
    latent = mla.kv_lora_rank + mla.qk_rope_head_dim
    yield Matrix("latent_down", "attention", mla.q_lora_rank + latent, h, num_layers)
    yield Matrix("query_up", "attention", heads * mla.qk_head_dim, mla.q_lora_rank or h, num_layers)
    yield Matrix("key_absorbed", "attention", mla.kv_lora_rank, mla.qk_nope_head_dim, num_layers, heads)
    yield Matrix("value_absorbed", "attention", mla.v_head_dim, mla.kv_lora_rank, num_layers, heads)
    yield Matrix("attention_output", "attention", h, heads * mla.v_head_dim, num_layers)
