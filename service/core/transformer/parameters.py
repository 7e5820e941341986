"""How many parameters a transformer has, term by term.

One convention, said once: the embedding table counts, the output head counts unless it is tied to it, learned
positions count; multi-token-prediction modules do not (``mtp_parameters`` has them). *Active* parameters are the total
without the routed experts that a token does not visit, both embedding tables included: model cards often leave one out.
"""

from __future__ import annotations

from collections.abc import Mapping

from service.core.transformer.architecture import LatentAttention, QkNorm, TransformerArchitecture


def parameter_terms(architecture: TransformerArchitecture) -> Mapping[str, int]:
    r"""Return the parameters of the whole model by term; the terms sum to the total.

    .. math:: N = V e + P h + L (N_{attn} + N_{norm}) + L_d N_{mlp} + L_m (E + s) N_{expert} + L_m N_{router} + N_{out}

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]

    Returns
    -------
    Mapping[str, int]
        Parameters by term. [-]

    Source
    ------
    Definition: the tensors that a checkpoint of the shape holds. Dense terms as in Narayanan et al., "Efficient
    Large-Scale Language Model Training on GPU Clusters", SC21, with biases and norms counted exactly.
    """
    a = architecture
    h, num_layers = a.hidden_size, a.num_layers
    moe, num_moe_layers = a.moe, a.moe.num_moe_layers if a.moe else 0
    norm = a.norm.num_vectors * h
    return {
        "word_embedding": a.vocab_size * (a.embedding_size or h),
        "embedding_projections": 2 * a.embedding_size * h if a.embedding_size else 0,  # in and out, no bias
        "position_embedding": a.position_rows * h,
        "embedding_norm": norm if a.embedding_norm else 0,
        "attention": num_layers * attention_parameters(a),
        "layer_norms": num_layers * a.norms_per_layer * norm,
        "dense_mlp": a.num_dense_layers * mlp_parameters(a, a.ffn_hidden_size) if a.ffn_hidden_size else 0,
        "router": num_moe_layers * (h * moe.num_experts + moe.num_experts * moe.router_bias) if moe else 0,
        "shared_experts": num_moe_layers * moe.num_shared_experts * expert_parameters(a) if moe else 0,
        "routed_experts": num_moe_layers * moe.num_experts * expert_parameters(a) if moe else 0,
        "final_norm": norm if a.final_norm else 0,
        "output_head": 0 if a.tie_embeddings else a.vocab_size * (a.embedding_size or h),
        "output_head_bias": a.vocab_size if a.lm_head_bias else 0,
    }


def attention_parameters(architecture: TransformerArchitecture) -> int:
    r"""Return the parameters of one layer's attention: projections, biases, query/key norms and sinks.

    .. math:: N_{attn} = h d (n_h + 2 n_{kv}) + n_h d h \quad \text{or, for MLA, } \text{compressions and expansions}

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape: h hidden_size, d head_dim, n_h heads, n_kv key and value heads. [-]

    Source
    ------
    Definition. MLA: DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, section 2.1.
    """
    a = architecture
    h, heads, kv_heads, d = a.hidden_size, a.num_attention_heads, a.num_key_value_heads, a.head_dim
    sinks = heads if a.attention_sinks else 0
    if a.mla is not None:
        return _latent_attention_parameters(a, a.mla) + sinks
    query_width, key_value_width = heads * d, kv_heads * d
    qk_norm = {
        QkNorm.NONE: 0,
        QkNorm.PER_HEAD_DIM: 2 * d,
        QkNorm.PER_HEAD: query_width + key_value_width,
    }[a.qk_norm]
    return (
        h * query_width  # queries
        + 2 * h * key_value_width  # keys and values
        + (query_width + 2 * key_value_width if a.bias.qkv else 0)  # their biases
        + query_width * h  # output
        + (h if a.bias.attention_output else 0)  # its bias
        + qk_norm
        + sinks
    )


def mlp_parameters(architecture: TransformerArchitecture, width: int) -> int:
    r"""Return the parameters of one MLP of the width: two matrices, or three when gated.

    .. math:: N_{mlp} = m h f \; (+\, (m - 1) f + h), \quad m = 3 \text{ if gated, else } 2

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape: h hidden_size, m matrices. [-]
    width : int
        f, intermediate width. [-]

    Source
    ------
    Definition. Gated form: Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202.
    """
    h, num_matrices = architecture.hidden_size, 3 if architecture.gated_mlp else 2
    bias = (num_matrices - 1) * width + h if architecture.bias.mlp else 0
    return num_matrices * h * width + bias


def expert_parameters(architecture: TransformerArchitecture) -> int:
    """Return the parameters of one routed (or shared) expert; 0 for a dense model.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]

    Source
    ------
    Definition: an expert is an MLP of ``expert_ffn_hidden_size``.
    """
    moe = architecture.moe
    return mlp_parameters(architecture, moe.expert_ffn_hidden_size) if moe else 0


def total_parameters(architecture: TransformerArchitecture) -> int:
    """Return all parameters of the main model.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]

    Source
    ------
    Definition: the sum of ``parameter_terms``.
    """
    return sum(parameter_terms(architecture).values())


def active_parameters(architecture: TransformerArchitecture) -> int:
    r"""Return the parameters that one token uses: the total without the routed experts it does not visit.

    .. math:: N_{active} = N - L_m (E - k) N_{expert}

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]

    Source
    ------
    Definition; both embedding tables are included, which is more than some model cards count.
    """
    moe = architecture.moe
    unvisited = moe.num_moe_layers * (moe.num_experts - moe.top_k) * expert_parameters(architecture) if moe else 0
    return total_parameters(architecture) - unvisited


def active_parameters_without_input_embedding(architecture: TransformerArchitecture) -> int:
    """Return the active parameters without the input table, which a token reads one row of; a tied one stays.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]

    Source
    ------
    Definition: how gpt-oss and DeepSeek count the active parameters on their model cards.
    """
    a = architecture
    table = 0 if a.tie_embeddings else a.vocab_size * (a.embedding_size or a.hidden_size)
    return active_parameters(a) - table


def mtp_parameters(architecture: TransformerArchitecture) -> int:
    r"""Return the parameters of the multi-token-prediction modules that a checkpoint holds beside the main model.

    .. math:: N_{mtp} = n_{mtp} (2 h^2 + N_{attn} + N_{norm} + N_{mlp\ of\ a\ layer} + 3 N_{norm\ vector})

    The embedding table and the output head are shared with the main model and not counted again.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]

    Source
    ------
    DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 2.2: a projection of two normalised
    states, one transformer layer, a final norm.
    """
    a = architecture
    norm = a.norm.num_vectors * a.hidden_size
    moe = a.moe
    experts = (moe.num_experts + moe.num_shared_experts) * expert_parameters(a) if moe else 0
    router = a.hidden_size * moe.num_experts + moe.num_experts * moe.router_bias if moe else 0
    dense = mlp_parameters(a, a.ffn_hidden_size) if a.ffn_hidden_size and not moe else 0
    layer = attention_parameters(a) + a.norms_per_layer * norm + experts + router + dense
    projection = 2 * a.hidden_size * a.hidden_size
    return a.num_mtp_layers * (projection + layer + 3 * norm)


def _latent_attention_parameters(a: TransformerArchitecture, mla: LatentAttention) -> int:
    h, heads = a.hidden_size, a.num_attention_heads
    compressed_query = mla.q_lora_rank or h  # width that the query heads are made from
    return (
        (h * mla.q_lora_rank + mla.q_lora_rank if mla.q_lora_rank else 0)  # query compression and its norm
        + compressed_query * heads * mla.qk_head_dim  # queries
        + h * (mla.kv_lora_rank + mla.qk_rope_head_dim)  # key-value compression and the shared rotary key
        + mla.kv_lora_rank  # its norm
        + mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim)  # keys and values
        + heads * mla.v_head_dim * h  # output
    )
