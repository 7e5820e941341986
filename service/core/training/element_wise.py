"""What a layer moves through memory between its multiplications: norms, residuals, activations, rotations, routing."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.training.layer_work import LayerWork
from service.core.transformer.architecture import Position, QkNorm, TransformerArchitecture

# Bytes per element of a 16 bit tensor that a fused kernel reads and writes, forward and backward.
_NORM = (4.0, 8.0)  # x in, y out | x and dy in, dx out, and dx added to the residual's gradient
_RESIDUAL = (6.0, 4.0)  # two in, one out | one in, one out
_DROPOUT_MASK = 1.0
_PLAIN_ACTIVATION = (4.0, 6.0)  # in, out | in and its gradient in, gradient out
_GATED_ACTIVATION = (6.0, 10.0)  # of the width of one of the two halves
_ROTATION = (4.0, 4.0)
_PERMUTATION = (4.0, 4.0)  # a copy of a token to its expert's place, and back
_SOFTMAX = (4.0, 6.0)  # scores in, weights out | weights and their gradient in, gradient out
_SCORE_DROPOUT = (5.0, 5.0)


@dataclass(frozen=True, slots=True)
class ElementWiseBytes:
    """Read and written by one layer of one micro-batch on one GPU. [B]"""

    forward: float
    backward: float


def element_wise_bytes(
    architecture: TransformerArchitecture, work: LayerWork, *, fused_attention: bool = True
) -> ElementWiseBytes:
    r"""Return the bytes that a layer's element-wise kernels move, each fused as far as frameworks fuse them.

    .. math:: B = T \left( \frac{(4 n_{norm} + 6 \cdot 2) h}{t_s} + \frac{6 f + 4 (n_h + n_{kv}) d}{t} \right)

    forward, for gated MLPs and rotary positions; t_s is t with sequence parallelism, else 1.

    Parameters
    ----------
    architecture : TransformerArchitecture
        h, f, n_h, n_kv, d and the number of norms. [-]
    work : LayerWork
        T tokens and how they are cut.
    fused_attention : bool
        False: the scores are written, masked, dropped and read, n_h s elements a token.

    Source
    ------
    Counted; Korthikanti et al., arXiv:2205.05198, section 4.1, lists the same tensors.
    """
    a, plan, tokens = architecture, work.plan, work.tokens
    t, h = plan.tensor_parallel_size, a.hidden_size
    between = tokens / plan.activation_divisor
    inside = tokens / t
    mask = _DROPOUT_MASK if work.dropout else 0.0
    heads = (a.num_attention_heads + (0 if a.mla else a.num_key_value_heads)) * a.head_dim
    rotated = heads * (a.position is Position.ROPE) + heads * (a.qk_norm is not QkNorm.NONE)
    width, activation = _mlp_width(a, work), _GATED_ACTIVATION if a.gated_mlp else _PLAIN_ACTIVATION
    scores = 0.0 if fused_attention else a.num_attention_heads * work.sequence_length

    def one_way(which: int) -> float:
        moved = between * h * (a.norms_per_layer * _NORM[which] + 2 * (_RESIDUAL[which] + mask))
        moved += inside * (rotated * _ROTATION[which] + width * activation[which])
        moved += inside * scores * (_SOFTMAX[which] + (_SCORE_DROPOUT[which] if work.dropout else 0.0))
        if work.has_experts and a.moe:
            moved += inside * 2 * a.moe.top_k * h * _PERMUTATION[which] * plan.expert_tensor_parallel_size
        return moved

    return ElementWiseBytes(one_way(0), one_way(1))


def _mlp_width(a: TransformerArchitecture, work: LayerWork) -> float:
    """Elements between the two multiplications of the MLP, per token of a tensor-parallel rank."""
    if not (work.has_experts and a.moe):
        return float(a.ffn_hidden_size or 0)
    return float((a.moe.top_k + a.moe.num_shared_experts) * a.moe.expert_ffn_hidden_size)
