"""Attention: over a whole sequence (prefill, training) bound by arithmetic, for one new token bound by the KV cache."""

from __future__ import annotations

from dataclasses import dataclass

_BACKWARD_FLOPS = 2.5  # five products of the forward's two: the scores again, then dQ, dK, dV and dP
_DIAGONAL_TOKENS = 64.0  # a causal mask wastes half of the tiles of 128 keys that it cuts
_BACKWARD_PASSES = 2.5  # reads q, k, v, o and its gradient, writes three gradients: against four of the forward


@dataclass(frozen=True, slots=True)
class AttentionConstants:
    """How near a flash-attention kernel comes to the peak.

    Parameters
    ----------
    peak_ratio : float
        e, share of the dense peak on long sequences of very wide heads. [-]
    softmax_elements : float
        d0, what the exponentials of one score cost that no product hides, in elements of the head. [-]
    ramp_tokens : float
        s0, what starting and ending a row of tiles costs, in keys for each query. [-]
    memory_ratio : float
        r, share of the HBM rate at which q, k, v and o pass once; rotary embedding and cache write included. [-]
    floor_seconds : float
        The kernel, and those that prepare it, inside a CUDA graph. [s]
    backward_ratio : float
        FLOP/s of the backward pass over those of the forward. [-]
    """

    peak_ratio: float
    softmax_elements: float
    ramp_tokens: float
    memory_ratio: float
    floor_seconds: float
    backward_ratio: float = 0.8


@dataclass(frozen=True, slots=True)
class AttentionEngine:
    """Flash attention in one number format on one accelerator.

    Parameters
    ----------
    peak_flops_per_second : float
        F, dense. [FLOP/s]
    memory_bandwidth_bytes_per_second : float
        W, datasheet HBM rate. [B/s]
    element_bytes : float
        w, of q, k, v and o. [B]
    """

    peak_flops_per_second: float
    memory_bandwidth_bytes_per_second: float
    element_bytes: float
    constants: AttentionConstants


@dataclass(frozen=True, slots=True)
class DecodeConstants:
    """How near attention for one new token comes to the HBM rate.

    Parameters
    ----------
    memory_ratio : float
        r, share of the datasheet rate on large caches. [-]
    peak_ratio : float
        e, share of the dense peak where many heads share one key (MLA). [-]
    drain_seconds : float
        c, what splitting the context over SMs and merging the parts adds to a large cache. [s]
    ramp_bytes : float
        b0, cache at which half of it is paid. [B]
    floor_seconds : float
        The kernels, inside a CUDA graph. [s]
    """

    memory_ratio: float
    peak_ratio: float
    drain_seconds: float
    ramp_bytes: float
    floor_seconds: float


@dataclass(frozen=True, slots=True)
class DecodeEngine:
    """Attention for one new token with one format of the cache on one accelerator.

    Parameters
    ----------
    peak_flops_per_second : float
        F, dense, of the format that the products are taken in. [FLOP/s]
    memory_bandwidth_bytes_per_second : float
        W, datasheet HBM rate. [B/s]
    kv_bytes : float
        w, of one element of the cache. [B]
    """

    peak_flops_per_second: float
    memory_bandwidth_bytes_per_second: float
    kv_bytes: float
    constants: DecodeConstants


def attended_pairs(
    query_tokens: float, context_tokens: float, *, causal: bool = True, window_tokens: float | None = None
) -> float:
    r"""Return how many (query, key) pairs one sequence scores, masked ones left out.

    .. math:: P = \sum_{i=1}^{s} \min(w, c - s + i) \text{ if causal, else } s \min(w, c)

    with half of the diagonal: s(c - s/2) for no window, as sources count it.

    Parameters
    ----------
    query_tokens : float
        s, tokens whose attention is computed: a whole prompt, or a chunk of it. [-]
    context_tokens : float
        c >= s, tokens they may see, themselves included. [-]
    causal : bool
        Whether a token sees only itself and what is before it.
    window_tokens : float or None
        w, how far back it sees. [-]

    Source
    ------
    Dao-AILab/flash-attention, benchmarks/benchmark_flash_attention.py: 4 b s^2 h d, halved if causal.
    """
    window = context_tokens if window_tokens is None else min(window_tokens, context_tokens)
    if not causal:
        return query_tokens * window
    growing = max(0.0, min(query_tokens, window - (context_tokens - query_tokens)))  # queries that see less than w
    before = context_tokens - query_tokens
    return growing * (before + growing / 2) + (query_tokens - growing) * window


def flash_attention_seconds(
    batch_size: float,
    query_tokens: float,
    num_heads: float,
    num_kv_heads: float,
    head_dim: float,
    engine: AttentionEngine,
    *,
    value_head_dim: float | None = None,
    context_tokens: float | None = None,
    causal: bool = True,
    window_tokens: float | None = None,
    backward: bool = False,
) -> float:
    r"""Return how long attention over a whole sequence takes: prefill, or a training pass.

    .. math:: t = t_0 + \frac{2 b h (P + s s_0)(d_k + d_v + 2 d_0)}{e F} + \frac{w b (s h + c h_{kv})(d_k + d_v)}{r W}

    with P from `attended_pairs`; a causal mask adds 64 to s_0, half of the tiles of 128 keys that it cuts.
    Backward: 2.5 times the products at `backward_ratio` of the rate, and 2.5 times the bytes.

    Parameters
    ----------
    batch_size : float
        b, sequences. [-]
    query_tokens : float
        s, tokens of each whose attention is computed. [-]
    num_heads, num_kv_heads : float
        h, h_kv on this GPU. [-]
    head_dim : float
        d_k, of queries and keys. MLA: 192 in prefill and training. [-]
    engine : AttentionEngine
        F, W, w and the constants.
    value_head_dim : float or None
        d_v; None: as d_k. MLA: 128. [-]
    context_tokens : float or None
        c, keys there are; None: as many as queries. More in chunked prefill and with a cached prefix. [-]
    causal : bool
        Whether a token sees only itself and what is before it.
    window_tokens : float or None
        Sliding window. [-]
    backward : bool
        The backward pass alone, instead of the forward.

    Assumptions
    -----------
    Blackwell's softmax share and all backward rates but FlashAttention-2's are not measured in a public table.

    Source
    ------
    Dao, "FlashAttention-2", arXiv:2307.08691; Shah et al., "FlashAttention-3", arXiv:2407.08608. Constants:
    hardware_catalog/calibrations/kernels-*.yaml, on validation/kernel_attention.csv and kernel_flash_attention.csv.
    """
    if batch_size <= 0 or query_tokens <= 0:
        return 0.0
    constants = engine.constants
    values = head_dim if value_head_dim is None else value_head_dim
    keys = query_tokens if context_tokens is None else context_tokens
    pairs = attended_pairs(query_tokens, keys, causal=causal, window_tokens=window_tokens)
    widths = head_dim + values + 2.0 * constants.softmax_elements
    pairs += query_tokens * (constants.ramp_tokens + (_DIAGONAL_TOKENS if causal else 0.0))
    flops = 2.0 * batch_size * num_heads * pairs * widths
    compute = flops / (engine.peak_flops_per_second * constants.peak_ratio)
    passed = engine.element_bytes * batch_size * (query_tokens * num_heads + keys * num_kv_heads) * (head_dim + values)
    memory = passed / (engine.memory_bandwidth_bytes_per_second * constants.memory_ratio)
    if backward:
        compute, memory = compute * _BACKWARD_FLOPS / constants.backward_ratio, memory * _BACKWARD_PASSES
    return constants.floor_seconds + compute + memory


def decode_attention_seconds(
    batch_size: float,
    context_tokens: float,
    num_heads: float,
    num_kv_heads: float,
    head_dim: float,
    engine: DecodeEngine,
    *,
    value_head_dim: float | None = None,
    latent: bool = False,
    window_tokens: float | None = None,
) -> float:
    r"""Return how long attention takes for one new token of each sequence: the cache is read once.

    .. math:: t = t_0 + \max\left(x + \frac{c\,x}{x + x_0}, \frac{2 b h s (d_k + d_v)}{e F}\right), \quad
        x = \frac{w b s h_{kv} (d_k + d_v)}{r W}, \quad x_0 = \frac{b_0}{r W}

    Parameters
    ----------
    batch_size : float
        b, sequences. [-]
    context_tokens : float
        s, tokens in the cache, on average over the sequences. [-]
    num_heads, num_kv_heads : float
        h, h_kv on this GPU. MLA: all h of it, and 1. [-]
    head_dim : float
        d_k. MLA: 576, latent and rotary part. [-]
    engine : DecodeEngine
        F, W, w and the constants.
    value_head_dim : float or None
        d_v; None: as d_k. MLA: 512. [-]
    latent : bool
        Keys and values are one stored vector of d_k elements (MLA), so that only it is read.
    window_tokens : float or None
        Sliding window: no more than this is kept and read. [-]

    Source
    ------
    Bytes: one read of the cache. Constants: hardware_catalog/calibrations/kernels-*.yaml, on
    validation/kernel_attention.csv; the compute share is that of deepseek-ai/FlashMLA's README, 660 TFLOP/s on an H800.
    """
    if batch_size <= 0 or context_tokens <= 0:
        return 0.0
    constants = engine.constants
    values = head_dim if value_head_dim is None else value_head_dim
    seen = context_tokens if window_tokens is None else min(context_tokens, window_tokens)
    stored = head_dim if latent else head_dim + values
    rate = engine.memory_bandwidth_bytes_per_second * constants.memory_ratio
    read = batch_size * seen * num_kv_heads * stored * engine.kv_bytes
    memory = read / rate + constants.drain_seconds * read / (read + constants.ramp_bytes)
    flops = 2.0 * batch_size * num_heads * seen * (head_dim + values)
    return constants.floor_seconds + max(memory, flops / (engine.peak_flops_per_second * constants.peak_ratio))
