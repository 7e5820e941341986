"""One step of a serving engine, kernel by kernel: a token for every running sequence, and perhaps part of a prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service.core.inference.batching import StepLoad
from service.core.inference.engine import EngineConstants
from service.core.inference.layout import ServingLayout
from service.core.kernels.attention import (
    AttentionEngine,
    DecodeEngine,
    decode_attention_seconds,
    flash_attention_seconds,
)
from service.core.kernels.gemm import GemmEngine, gemm_seconds, grouped_gemm_seconds
from service.core.kernels.memory_bound import MemoryBoundConstants, memory_bound_seconds
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.matrices import Matrix, distinct_experts

_WIRE_BYTES = 2.0  # activations travel in bf16
_NORM_PASSES = 4  # residual and input read, residual and output written
_ALL_REDUCES = 2  # after attention and after the MLP


@dataclass(frozen=True, slots=True)
class Replica:
    """A model on the GPUs of one stage, with what times each part of a step.

    Parameters
    ----------
    dense, experts, head : tuple of Matrix
        What one GPU multiplies.
    quantised, half : GemmEngine
        Matrices of the terms in `quantised_terms`, and the rest in 16 bits.
    all_reduce_seconds : Callable
        From (size of a buffer in bytes, whether a CUDA graph launches it) to the time over the tensor-parallel group.
    exchange_seconds : Callable or None
        From tokens per GPU to the time in which experts get them and give them back; None: an all-reduce does.
    """

    architecture: TransformerArchitecture
    layout: ServingLayout
    engine: EngineConstants
    dense: tuple[Matrix, ...]
    experts: tuple[Matrix, ...]
    head: Matrix
    quantised_terms: frozenset[str]
    quantised: GemmEngine
    half: GemmEngine
    attention: AttentionEngine
    decode: DecodeEngine
    memory_bound: MemoryBoundConstants
    memory_bandwidth_bytes_per_second: float
    all_reduce_seconds: Callable[[float, bool], float]
    exchange_seconds: Callable[[float], float] | None = None


@dataclass(frozen=True, slots=True)
class StepParts:
    """The exclusive parts of a step; they sum to its time. [s]

    Parameters
    ----------
    matrices, experts, output_head : float
        Multiplications by weights: dense ones, routed experts, vocabulary.
    decode_attention, prefill_attention : float
        Reading the cache for new tokens; prompts among themselves.
    communication : float
        All-reduces, or the experts' exchange.
    element_wise : float
        Norms, activations, residuals: bytes over bandwidth.
    layers : float
        What each layer costs whatever its size: launches and gaps.
    host : float
        Scheduling and sampling that the GPU waits for.
    """

    matrices: float
    experts: float
    output_head: float
    decode_attention: float
    prefill_attention: float
    communication: float
    element_wise: float
    layers: float
    host: float

    @property
    def seconds(self) -> float:
        """The step. [s]"""
        return (
            self.matrices + self.experts + self.output_head + self.decode_attention + self.prefill_attention
            + self.communication + self.element_wise + self.layers + self.host
        )  # fmt: skip


def step_parts(load: StepLoad, replica: Replica) -> StepParts:
    r"""Return the parts of a step.

    .. math:: t = r_m \sum_i L_i\, t_{gemm}(m, n_i, k_i) + r_a L\, t_{attn} + 2 L\, t_{ar}(2 m h)
              + L\, t_{layer} + t_{host}

    Parameters
    ----------
    load : StepLoad
        Sequences and prompt tokens over all attention copies; m is one copy's. [-]
    replica : Replica
        Matrices, kernels, engine.

    Assumptions
    -----------
    Kernels of a step follow one another; nothing of communication is hidden.

    Source
    ------
    The sum of kernel times is how aiconfigurator (NVIDIA, Apache-2.0) and vidur (arXiv:2405.05465) time a step.
    """
    a, e, layout = replica.architecture, replica.engine, replica.layout
    copies = layout.attention_data_parallel_size
    sequences, prompts = load.sequences / copies, load.prompts / copies
    tokens = sequences * load.tokens_per_sequence + load.prompt_tokens / copies
    return StepParts(
        matrices=e.matrix_ratio * sum(_matrix_seconds(each, tokens, replica) for each in replica.dense),
        experts=e.expert_ratio * _experts_seconds(load, replica),
        output_head=e.matrix_ratio
        * gemm_seconds(
            max(1.0, sequences * load.tokens_per_sequence + prompts), replica.head.n, replica.head.k, replica.half
        ),
        decode_attention=e.attention_ratio * _decode_attention_seconds(sequences, load.context_tokens, replica),
        prefill_attention=e.attention_ratio * _prefill_attention_seconds(load, prompts, replica),
        communication=_communication_seconds(tokens, load, replica),
        element_wise=_element_wise_seconds(tokens, replica),
        layers=a.num_layers * e.layer_seconds,
        host=e.host_seconds + e.sequence_seconds * load.sequences,
    )


def _matrix_seconds(matrix: Matrix, tokens: float, replica: Replica) -> float:
    engine = replica.quantised if matrix.term in replica.quantised_terms else replica.half
    if matrix.groups > 1:
        return matrix.layers * grouped_gemm_seconds(matrix.groups, tokens, matrix.n, matrix.k, replica.half)
    return matrix.layers * gemm_seconds(tokens, matrix.n, matrix.k, engine)


def _experts_seconds(load: StepLoad, replica: Replica) -> float:
    moe = replica.architecture.moe
    if moe is None:
        return 0.0
    tokens = load.sequences * load.tokens_per_sequence + load.prompt_tokens
    parts = replica.layout.expert_parallel_size
    hit = max(1.0, distinct_experts(moe.num_experts, moe.top_k, tokens) / parts)
    rows = tokens * moe.top_k / parts / hit
    engine = replica.quantised if "routed_experts" in replica.quantised_terms else replica.half
    return sum(each.layers * grouped_gemm_seconds(hit, rows, each.n, each.k, engine) for each in replica.experts)


def _layers_by_window(a: TransformerArchitecture) -> tuple[tuple[int, float | None], ...]:
    window = a.sliding_window or a.attention_chunk_size
    local = a.num_local_attention_layers if window else 0
    return tuple(each for each in ((a.num_layers - local, None), (local, window)) if each[0])


def _decode_attention_seconds(sequences: float, context_tokens: float, replica: Replica) -> float:
    a, t = replica.architecture, replica.layout.tensor_parallel_size
    heads = a.num_attention_heads / t
    if sequences <= 0:
        return 0.0
    if a.mla is not None:
        width, values = a.mla.kv_lora_rank + a.mla.qk_rope_head_dim, a.mla.kv_lora_rank
        each = decode_attention_seconds(
            sequences, context_tokens, heads, 1, width, replica.decode, value_head_dim=values, latent=True
        )
        return a.num_layers * each
    kv_heads = max(1.0, a.num_key_value_heads / t)
    return sum(
        layers
        * decode_attention_seconds(
            sequences, context_tokens, heads, kv_heads, a.head_dim, replica.decode, window_tokens=window
        )
        for layers, window in _layers_by_window(a)
    )


def _prefill_attention_seconds(load: StepLoad, prompts: float, replica: Replica) -> float:
    if load.prompt_tokens <= 0 or prompts <= 0:
        return 0.0
    a, t = replica.architecture, replica.layout.tensor_parallel_size
    query = load.prompt_tokens / load.prompts
    heads, kv_heads = a.num_attention_heads / t, max(1.0, a.num_key_value_heads / t)
    values = a.mla.v_head_dim if a.mla else None
    return sum(
        layers
        * flash_attention_seconds(
            prompts, query, heads, heads if a.mla else kv_heads, a.head_dim, replica.attention, value_head_dim=values,
            context_tokens=query + load.prompt_past_tokens, window_tokens=window,
        )
        for layers, window in _layers_by_window(a)
    )  # fmt: skip


def _communication_seconds(tokens: float, load: StepLoad, replica: Replica) -> float:
    a, layout = replica.architecture, replica.layout
    graph = load.prompt_tokens <= 0
    exchanged = a.moe.num_moe_layers if a.moe and replica.exchange_seconds else 0
    seconds = 0.0
    if layout.tensor_parallel_size > 1:
        each = replica.all_reduce_seconds(tokens * a.hidden_size * _WIRE_BYTES, graph)
        seconds += (_ALL_REDUCES * a.num_layers - exchanged) * each
    if replica.exchange_seconds and exchanged:
        seconds += exchanged * replica.exchange_seconds(tokens / layout.tensor_parallel_size)
    return seconds


def _element_wise_seconds(tokens: float, replica: Replica) -> float:
    a, t = replica.architecture, replica.layout.tensor_parallel_size
    routed = a.moe.top_k * a.moe.expert_ffn_hidden_size if a.moe else 0
    width = (3 if a.gated_mlp else 2) * max(a.ffn_hidden_size or 0, routed) / t
    moved = _WIRE_BYTES * tokens * (2 * _NORM_PASSES * a.hidden_size + width)
    return a.num_layers * memory_bound_seconds(
        moved, replica.memory_bandwidth_bytes_per_second, replica.memory_bound, num_kernels=0, cuda_graphs=True
    )
