"""What fits: weights, the engine's own memory, and how many sequences the rest holds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from service.core.inference.layout import ServingLayout
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.kv_cache import kv_sequence_bytes

_ACTIVATION_BYTES = 2.0  # bf16
_HIDDEN_COPIES = 3  # the residual, a norm's output and a block's output
_LOGIT_BYTES = 4.0  # fp32
_MOST_SEARCHED_TOKENS = 1 << 34


@dataclass(frozen=True, slots=True)
class ServingMemory:
    """One GPU's memory while it serves; the fullest GPU of the replica.

    Parameters
    ----------
    capacity_bytes : float
        What the driver shows. [B]
    usable_bytes : float
        What the engine lets itself take of it. [B]
    weights_bytes : float
        Resident weights. [B]
    runtime_bytes : float
        CUDA context, graphs, communication buffers. [B]
    activations_bytes : float
        Buffers of the largest step. [B]
    """

    capacity_bytes: float
    usable_bytes: float
    weights_bytes: float
    runtime_bytes: float
    activations_bytes: float

    @property
    def other_bytes(self) -> float:
        """All that is neither weights nor cache. [B]"""
        return self.runtime_bytes + self.activations_bytes

    @property
    def kv_bytes(self) -> float:
        """What is left for keys and values; negative: that much is missing. [B]"""
        return self.usable_bytes - self.weights_bytes - self.other_bytes


def activation_bytes(
    architecture: TransformerArchitecture, tokens: float, sequences: float, tensor_parallel_size: int
) -> float:
    r"""Return the bytes of the buffers that the largest step needs on one GPU.

    .. math:: A = 2\, n \left(3 h + \frac{\max((m + 1) f, (2 n_h + 2 n_{kv}) d)}{t}\right) + 4\, s V / t

    Parameters
    ----------
    architecture : TransformerArchitecture
        h hidden_size, f widest MLP width (times the experts a token visits), m matrices in: 2 if gated. [-]
    tokens : float
        n, tokens of the step. [tokens]
    sequences : float
        s, sequences whose next token is sampled. [-]
    tensor_parallel_size : int
        t. [-]

    Assumptions
    -----------
    Buffers are reused from layer to layer; those of hidden_size are on every GPU.

    Source
    ------
    Definition. The measured remainder of vllm-project/vllm#6746 (405B, 131,072 tokens at once) is within a fifth.
    """
    a = architecture
    routed = a.moe.top_k * a.moe.expert_ffn_hidden_size if a.moe else 0
    mlp = (3 if a.gated_mlp else 2) * max(a.ffn_hidden_size or 0, routed)
    attention = 2 * (a.num_attention_heads + a.num_key_value_heads) * a.head_dim
    each = _HIDDEN_COPIES * a.hidden_size + max(mlp, attention) / tensor_parallel_size
    return _ACTIVATION_BYTES * tokens * each + _LOGIT_BYTES * sequences * a.vocab_size / tensor_parallel_size


def largest_batch(
    architecture: TransformerArchitecture,
    layout: ServingLayout,
    kv_bytes: float,
    context_tokens: float,
    bytes_per_element: float,
) -> int:
    r"""Return how many sequences of a length the cache of a replica holds.

    .. math:: B_{max} = a \left\lfloor \frac{p\, K}{b(c)} \right\rfloor

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    layout : ServingLayout
        a attention copies, each with its own sequences; p stages, each with its layers' part. [-]
    kv_bytes : float
        K, what one GPU has for the cache. [B]
    context_tokens : float
        c, tokens that a sequence counts for. [tokens]
    bytes_per_element : float
        Of keys and values. [B]

    Source
    ------
    Kwon et al., "Efficient Memory Management for LLM Serving with PagedAttention", SOSP23, section 3; pages'
    rounding is left out.
    """
    each = kv_sequence_bytes(architecture, context_tokens, bytes_per_element, layout.tensor_parallel_size)
    per_copy = max(0.0, kv_bytes) * layout.pipeline_parallel_size / each if each > 0 else math.inf
    return layout.attention_data_parallel_size * math.floor(per_copy)


def largest_context(
    architecture: TransformerArchitecture, layout: ServingLayout, kv_bytes: float, bytes_per_element: float
) -> int:
    """Return the longest single sequence that the cache of one attention copy holds.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape; windows end what their layers keep. [-]
    layout : ServingLayout
        Its stages each hold their layers' part. [-]
    kv_bytes : float
        What one GPU has for the cache. [B]
    bytes_per_element : float
        Of keys and values. [B]

    Source
    ------
    Definition: the largest c with b(c) <= p K, by bisection.
    """
    room = max(0.0, kv_bytes) * layout.pipeline_parallel_size

    def fits(tokens: int) -> bool:
        return kv_sequence_bytes(architecture, tokens, bytes_per_element, layout.tensor_parallel_size) <= room

    low, high = 0, _MOST_SEARCHED_TOKENS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
