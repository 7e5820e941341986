"""How many bytes the keys and values of past tokens take."""

from __future__ import annotations

import math

from service.core.transformer.architecture import TransformerArchitecture


def kv_elements_per_layer(architecture: TransformerArchitecture, tensor_parallel_size: int = 1) -> int:
    r"""Return the cached elements of one token and layer that one GPU of a tensor-parallel group holds.

    .. math:: e = 2 \lceil n_{kv} / t \rceil d \quad \text{or, for MLA, } r_{kv} + d_{rope} \text{ on every GPU}

    Parameters
    ----------
    architecture : TransformerArchitecture
        n_kv key and value heads of width d; for MLA r_kv and d_rope of the latent vector. [-]
    tensor_parallel_size : int
        t, GPUs that share the heads. Past n_kv each holds a copy; the latent vector has no heads to share. [-]

    Source
    ------
    Ainslie et al., "GQA", arXiv:2305.13245, section 2.2; DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, table 1.
    """
    a = architecture
    if a.mla is not None:
        return a.mla.kv_lora_rank + a.mla.qk_rope_head_dim
    return 2 * math.ceil(a.num_key_value_heads / tensor_parallel_size) * a.head_dim


def kv_bytes_per_token(
    architecture: TransformerArchitecture, bytes_per_element: float, tensor_parallel_size: int = 1
) -> float:
    r"""Return the cache bytes of one token over all layers, on one GPU of the group.

    .. math:: b = L\, e\, k_b

    Parameters
    ----------
    architecture : TransformerArchitecture
        L layers, e elements each. [-]
    bytes_per_element : float
        k_b. [B]
    tensor_parallel_size : int
        GPUs that share the heads; 1 is the whole model's cache. [-]

    Assumptions
    -----------
    Every layer keeps the token: true until a window has passed it.

    Source
    ------
    Definition: one key and one value vector for each key-value head, token and layer.
    """
    return architecture.num_layers * kv_elements_per_layer(architecture, tensor_parallel_size) * bytes_per_element


def cached_token_layers(architecture: TransformerArchitecture, context_tokens: float) -> float:
    r"""Return the sum over layers of the tokens that each keeps of a sequence.

    .. math:: \tau = (L - L_w)\, c + L_w \min(c, w)

    Parameters
    ----------
    architecture : TransformerArchitecture
        L layers, of which L_w see only w tokens (a sliding window, or chunks). [-]
    context_tokens : float
        c, tokens of the sequence so far. [tokens]

    Assumptions
    -----------
    A chunked layer keeps a whole chunk; on average it holds half of one less.

    Source
    ------
    Beltagy, Peters, Cohan, "Longformer", arXiv:2004.05150, section 3.1: what a window of w sees.
    """
    a = architecture
    window = a.sliding_window or a.attention_chunk_size
    local = a.num_local_attention_layers if window else 0
    return (a.num_layers - local) * context_tokens + local * min(context_tokens, window or context_tokens)


def kv_sequence_bytes(
    architecture: TransformerArchitecture,
    context_tokens: float,
    bytes_per_element: float,
    tensor_parallel_size: int = 1,
) -> float:
    r"""Return the cache bytes of one sequence, windows minded, on one GPU of the group.

    .. math:: b(c) = \tau(c)\, e\, k_b

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    context_tokens : float
        c, tokens of the sequence so far. [tokens]
    bytes_per_element : float
        k_b. [B]
    tensor_parallel_size : int
        GPUs that share the heads; 1 is the whole model's cache. [-]

    Source
    ------
    Definition: ``cached_token_layers`` times the elements of one token and layer.
    """
    elements = kv_elements_per_layer(architecture, tensor_parallel_size)
    return cached_token_layers(architecture, context_tokens) * elements * bytes_per_element
