"""Floating-point operations of a training step: model FLOPs for MFU, hardware FLOPs for HFU.

A multiply-add is two operations. *Model* FLOPs are what the mathematics needs: forward, and twice that for backward.
*Hardware* FLOPs add what is computed again. Whether the masked half of causal attention counts is the source's choice
and changes MFU by up to a third: it is an argument, never an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping

from service.core.kernels.attention import attended_pairs
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.matrices import dense_matrices, expert_matrices, output_head

_BACKWARD = 2.0  # gradients of the inputs and of the weights, each as large as the forward product
_TRAINED = 1.0 + _BACKWARD


def forward_flops_per_token(
    architecture: TransformerArchitecture, sequence_length: float, *, causal: bool = True
) -> Mapping[str, float]:
    r"""Return the forward FLOPs of one token by term, the main model's; the terms sum to the total.

    .. math:: F = 2 N_{multiplied} + \sum_{layers} \frac{2 P (d_k + d_v) n_h}{s} + 2 h V

    Parameters
    ----------
    architecture : TransformerArchitecture
        h hidden_size, n_h heads of d_k and d_v, V vocab_size. [-]
    sequence_length : float
        s. [tokens]
    causal : bool
        Whether pairs that the mask hides are left out of P, the (query, key) pairs of a sequence.

    Source
    ------
    Korthikanti et al., "Reducing Activation Recomputation", arXiv:2205.05198, equation 7 (full attention); Narayanan
    et al., arXiv:2104.04473, appendix. Embedding look-ups, norms and softmax count nothing.
    """
    a = architecture
    terms: dict[str, float] = dict.fromkeys(("attention", "dense_mlp", "router", "shared_experts"), 0.0)
    for matrix in dense_matrices(a, 1, absorbed=False):
        terms[matrix.term] += 2.0 * matrix.n * matrix.k * matrix.layers
    copies = a.moe.top_k if a.moe else 0
    terms["routed_experts"] = sum(2.0 * m.n * m.k * m.layers * copies for m in expert_matrices(a, 1, 1))
    terms["attention_scores"] = attention_flops_per_token(a, sequence_length, causal=causal)
    head = output_head(a, 1)
    terms["output_head"] = 2.0 * head.n * head.k
    return terms


def attention_flops_per_token(
    architecture: TransformerArchitecture, sequence_length: float, *, causal: bool = True
) -> float:
    r"""Return the forward FLOPs of the scores and of their product with the values, per token, all layers.

    .. math:: F_{attn} = \sum_{layers} \frac{2 P (d_k + d_v) n_h}{s}

    Parameters
    ----------
    architecture : TransformerArchitecture
        n_h heads of d_k and d_v; layers with a sliding window see no further. [-]
    sequence_length : float
        s. [tokens]
    causal : bool
        Whether P leaves out the pairs that the mask hides.

    Source
    ------
    Dao-AILab/flash-attention, benchmarks/benchmark_flash_attention.py: 4 b s^2 h d forward, halved if causal.
    """
    a = architecture
    widths = a.num_attention_heads * (a.head_dim + (a.mla.v_head_dim if a.mla else a.head_dim))
    full = attended_pairs(sequence_length, sequence_length, causal=causal)
    window = a.sliding_window or a.attention_chunk_size
    near = attended_pairs(sequence_length, sequence_length, causal=causal, window_tokens=window)
    local = a.num_local_attention_layers
    return 2.0 * widths * ((a.num_layers - local) * full + local * near) / sequence_length


def mtp_flops_per_token(architecture: TransformerArchitecture, sequence_length: float, *, causal: bool = True) -> float:
    r"""Return the forward FLOPs per token of the multi-token-prediction modules: a projection, a layer, a head each.

    .. math:: F_{mtp} = n_{mtp} \left(4 h^2 + F_{layer} + 2 h V\right)

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape; without modules the answer is 0. [-]
    sequence_length : float
        s. [tokens]
    causal : bool
        As in `forward_flops_per_token`.

    Source
    ------
    DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 2.2.
    """
    a = architecture
    if not a.num_mtp_layers:
        return 0.0
    terms = forward_flops_per_token(a, sequence_length, causal=causal)
    layers = a.moe.num_moe_layers if a.moe else a.num_layers
    mlp = terms["router"] + terms["shared_experts"] + terms["routed_experts"] if a.moe else terms["dense_mlp"]
    layer = (terms["attention"] + terms["attention_scores"]) / a.num_layers + mlp / layers
    projection = 4.0 * a.hidden_size * a.hidden_size
    return a.num_mtp_layers * (projection + layer + terms["output_head"])


def model_flops(
    architecture: TransformerArchitecture,
    tokens: float,
    sequence_length: float,
    *,
    causal: bool = True,
    with_mtp: bool = False,
) -> float:
    r"""Return the model FLOPs of a training step: three times the forward pass.

    .. math:: F_{model} = 3 B s F

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    tokens : float
        B s, of the step. [tokens]
    sequence_length : float
        s. [tokens]
    causal : bool
        Whether only the unmasked half of causal attention counts.
    with_mtp : bool
        Whether the multi-token-prediction modules are trained too.

    Source
    ------
    Korthikanti et al., arXiv:2205.05198, equation 7.
    """
    forward = sum(forward_flops_per_token(architecture, sequence_length, causal=causal).values())
    if with_mtp:
        forward += mtp_flops_per_token(architecture, sequence_length, causal=causal)
    return _TRAINED * tokens * forward


def hardware_flops(
    architecture: TransformerArchitecture,
    tokens: float,
    sequence_length: float,
    *,
    causal: bool = True,
    full_layers_ratio: float = 0.0,
    attention_recomputed: bool = False,
) -> float:
    r"""Return the hardware FLOPs of a step: model FLOPs and what recomputation adds.

    .. math:: F_{hw} = F_{model} + B s \left(r F_{layers} + F_{attn}\right)

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    tokens : float
        B s. [tokens]
    sequence_length : float
        s. [tokens]
    causal : bool
        As in `model_flops`.
    full_layers_ratio : float
        r, share of the layers that are recomputed whole. [-]
    attention_recomputed : bool
        Whether the core of attention is computed again (selective recomputation, the last term).

    Source
    ------
    Korthikanti et al., arXiv:2205.05198, equation 8; Narayanan et al., arXiv:2104.04473 (full recomputation: 4/3).
    """
    terms = forward_flops_per_token(architecture, sequence_length, causal=causal)
    layers = sum(terms.values()) - terms["output_head"]
    again = full_layers_ratio * layers
    if attention_recomputed:
        again += (1.0 - full_layers_ratio) * terms["attention_scores"]
    return model_flops(architecture, tokens, sequence_length, causal=causal) + tokens * again
