"""What a layer keeps for its backward pass, in bytes per token, and what recomputation spares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from service.core.transformer.architecture import TransformerArchitecture

_HALF = 2.0  # bytes of an activation
_MASK = 1.0  # bytes of a dropout mask's element
_KEPT_PRODUCTS = 0.5  # of the matrix products, by a policy that keeps every other one


class Recompute(StrEnum):
    """What the backward pass computes again instead of keeping."""

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


class SelectivePolicy(StrEnum):
    """What frameworks mean by selective recomputation."""

    SCORES = "scores"  # unfused attention's core: softmax, dropout, product with the values (Megatron)
    NORMS_AND_ACTIVATIONS = "norms_and_activations"  # Megatron-Core's modules layernorm, moe_act and mlp's activation
    EVERY_OTHER_PRODUCT = "every_other_product"  # torchtitan's per-operator policy: half of the matrix products


@dataclass(frozen=True, slots=True)
class ActivationLayout:
    """How one layer's activations lie on GPUs.

    Parameters
    ----------
    tensor_parallel_size : int
        t.
    sequence_parallel : bool
        Whether what lies between the tensor-parallel parts is divided too.
    expert_tensor_parallel_size : int
        Ranks that share one expert.
    fused_attention : bool
        Whether scores are never written.
    dropout : bool
        Whether masks are kept.
    """

    tensor_parallel_size: int = 1
    sequence_parallel: bool = False
    expert_tensor_parallel_size: int = 1
    fused_attention: bool = True
    dropout: bool = False


def activation_bytes_per_token(
    architecture: TransformerArchitecture,
    sequence_length: float,
    layout: ActivationLayout,
    recompute: Recompute = Recompute.NONE,
    policy: SelectivePolicy = SelectivePolicy.SCORES,
    *,
    has_experts: bool = False,
) -> float:
    r"""Return what one layer keeps of one token of its tensor-parallel group, on one GPU.

    .. math:: A = \frac{h (8 + 2 [\text{dropout}])}{t_s} + \frac{2 (2 n_h + 2 n_{kv}) d + A_{mlp} + 5 n_h s}{t}

    in 16 bits: both norms' inputs and outputs; queries, keys, values and attention's output; of the MLP 6 f if gated,
    4 f if not; and 5 n_h s of scores, weights and masks only where attention is not fused. A model of f = 4 h with
    dropout keeps 34 h + 5 n_h s. Recomputed whole, a layer keeps 2 h / t_s.

    Parameters
    ----------
    architecture : TransformerArchitecture
        h, n_h, n_kv, d, f. [-]
    sequence_length : float
        s. [tokens]
    layout : ActivationLayout
        t; t_s is t with sequence parallelism, else 1.
    recompute : Recompute
        What is not kept.
    policy : SelectivePolicy
        What selective recomputation means.
    has_experts : bool
        Whether the MLP is a mixture: then a token has a copy for each of its experts.

    Source
    ------
    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv:2205.05198, equations 1
    to 6 and table 2; counted likewise for grouped queries, gated MLPs and experts.
    """
    a, t = architecture, layout.tensor_parallel_size
    h, between = a.hidden_size, t if layout.sequence_parallel else 1
    if recompute is Recompute.FULL:
        return _HALF * h / between
    values = a.mla.v_head_dim if a.mla else a.head_dim
    kv_heads = a.num_attention_heads if a.mla else max(a.num_key_value_heads, t)
    queries = _HALF * a.num_attention_heads * a.head_dim / t
    keys_values = _HALF * kv_heads * (a.head_dim + values) / t
    attended = _HALF * a.num_attention_heads * values / t
    inputs, masks = 2 * _HALF * h / between, 2 * _MASK * h * layout.dropout / between
    outputs = 2 * _HALF * h / between  # of the norms: what the two column-parallel multiplications read
    products, activated = _mlp_bytes(a, layout, has_experts)
    score_bytes = _HALF + (_HALF + _MASK if layout.dropout else 0.0)
    scores = 0.0 if layout.fused_attention else score_bytes * a.num_attention_heads * sequence_length / t
    if recompute is Recompute.SELECTIVE:
        if policy is SelectivePolicy.NORMS_AND_ACTIVATIONS:
            outputs, activated = 0.0, 0.0
        elif policy is SelectivePolicy.EVERY_OTHER_PRODUCT:
            outputs, activated = 0.0, 0.0
            queries, keys_values, products = (x * _KEPT_PRODUCTS for x in (queries, keys_values, products))
        scores = 0.0
    return inputs + masks + outputs + queries + keys_values + attended + products + activated + scores


def _mlp_bytes(a: TransformerArchitecture, layout: ActivationLayout, has_experts: bool) -> tuple[float, float]:
    """Return what the first multiplication writes (and copies of tokens), and what the activation writes."""
    gate = 2 if a.gated_mlp else 1
    if not (has_experts and a.moe):
        width = (a.ffn_hidden_size or 0) / layout.tensor_parallel_size
        return _HALF * gate * width, _HALF * width
    moe, t = a.moe, layout.tensor_parallel_size
    width = (moe.top_k + moe.num_shared_experts) * moe.expert_ffn_hidden_size / t
    copies = 2 * moe.top_k * _HALF * a.hidden_size * layout.expert_tensor_parallel_size / t  # dispatched, to combine
    return _HALF * gate * width + copies, _HALF * width
