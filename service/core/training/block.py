"""One transformer layer of one micro-batch on one GPU: its kernels forward and backward, in seconds.

Costs here depend on few scalars and on nothing else, so that a layout search can keep them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from service.core.kernels.attention import AttentionEngine, flash_attention_seconds
from service.core.kernels.gemm import GemmEngine, gemm_seconds, grouped_gemm_seconds
from service.core.training.element_wise import ElementWiseBytes, element_wise_bytes
from service.core.training.layer_work import LayerWork, expert_tokens
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.matrices import Matrix, dense_matrices, expert_matrices

_COLUMN_PARALLEL = frozenset({"qkv", "gate_up", "query_up", "key_value_up", "shared_gate_up"})
_ALIGNED_ELEMENTS = 8  # 16 bytes of a 16 bit format
_SCORE_PRODUCTS_BACKWARD = 2.0  # each of the two products has a gradient for either factor


@dataclass(frozen=True, slots=True)
class TrainingConstants:
    """What one class of framework makes of one GPU generation's kernels.

    Parameters
    ----------
    half_ratio, eight_bit_ratio, four_bit_ratio : float
        Speed of multiplications in 16, 8 and 4 bits inside a step, over the kernels' own: clocks under load, caches,
        gaps, and libraries other than those that the kernels were measured in. [-]
    element_wise_ratio : float
        Bytes that element-wise kernels move over those of fully fused ones. [-]
    layer_host_seconds : float
        The host's time to launch one layer's forward pass without a CUDA graph; no layer is faster. [s]
    expert_host_seconds : float
        Added for each expert of the GPU where its kernels are launched one by one: no CUDA graph, no fused experts. [s]
    expert_traffic_ratio : float
        Bytes of an expert layer's element-wise kernels and casts then, over those of fused ones. [-]
    misaligned_scores_ratio : float
        How much longer unfused products of scores take whose head is no multiple of 8 elements wide: libraries fall to
        kernels without tensor cores. [-]
    overlap_slowdown_ratio : float
        What a second of hidden communication adds to the computing it hides behind (SMs, memory traffic). [-]
    step_seconds : float
        Once a step: data, logging, gradient norm, launches of the optimizer. [s]
    """

    half_ratio: float
    eight_bit_ratio: float
    four_bit_ratio: float
    element_wise_ratio: float
    layer_host_seconds: float
    expert_host_seconds: float
    expert_traffic_ratio: float
    misaligned_scores_ratio: float
    overlap_slowdown_ratio: float
    step_seconds: float


@dataclass(frozen=True, slots=True)
class TrainingEngines:
    """What multiplies and moves bytes in a step.

    Parameters
    ----------
    forward, weight_gradient : GemmEngine
        Matrices of the layers in the precision of the step; gradients of weights add to a wider buffer.
    half, half_weight_gradient : GemmEngine
        What stays in 16 bits: router, output head, unfused scores.
    attention : AttentionEngine or None
        Flash attention; None: the scores are written to memory.
    sustained_ratio : float
        Clock of long training over that of a burst. [-]
    cast_bytes : float
        Moved for each element of a multiplication's input that is cast on the way; 0 in 16 bits. [B]
    memory_bytes_per_second : float
        What element-wise kernels reach of the HBM rate. [B/s]
    """

    forward: GemmEngine
    weight_gradient: GemmEngine
    half: GemmEngine
    half_weight_gradient: GemmEngine
    attention: AttentionEngine | None
    sustained_ratio: float
    cast_bytes: float
    memory_bytes_per_second: float
    constants: TrainingConstants
    cuda_graphs: bool = False

    @property
    def half_speed(self) -> float:
        """What the seconds of a kernel in 16 bits are divided by inside a step. [-]"""
        return self.sustained_ratio * self.constants.half_ratio

    @property
    def speed(self) -> float:
        """The same for a kernel in the precision of the step. [-]"""
        width, constants = self.forward.activation_bytes, self.constants
        if width >= self.half.activation_bytes:
            return self.half_speed
        return self.sustained_ratio * (constants.eight_bit_ratio if width >= 1 else constants.four_bit_ratio)


@dataclass(frozen=True, slots=True)
class LayerSeconds:
    """One layer's time on one GPU, without communication. [s]

    Parameters
    ----------
    forward, backward : float
        Of the passes.
    attention_forward, attention_backward : float
        Of these, the core of attention: what context parallelism hides behind, and selective recomputation repeats.
    multiply_forward, element_wise_forward : float
        Of the forward pass: what other kinds of selective recomputation repeat.
    input_gradient, weight_gradient : float
        Of the backward pass: of the matrices whose input is gathered, what tensor parallelism hides behind.
    """

    forward: float
    backward: float
    attention_forward: float
    attention_backward: float
    multiply_forward: float
    element_wise_forward: float
    input_gradient: float
    weight_gradient: float


def layer_seconds(architecture: TransformerArchitecture, work: LayerWork, engines: TrainingEngines) -> LayerSeconds:
    r"""Return how long one layer takes, forward and backward.

    .. math:: t = \max\left(\frac{1}{\kappa} \Big(\sum_{matrices} t_{gemm} + t_{attn}\Big) + \frac{\epsilon B}{W},
        t_{host}\right)

    Every matrix is multiplied once forward, and twice backward: [m, n] by its transpose for the gradient of the input,
    [k, m] by [m, n] for that of the weights, which adds to a buffer of 4 bytes an element.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    work : LayerWork
        What of it is on this GPU.
    engines : TrainingEngines
        Kernels, and the constants kappa (by number format, clocks included), epsilon, t_host.

    Assumptions
    -----------
    Tokens are spread evenly over experts. Causal attention over a context-parallel group is dealt so that its ranks
    have the same work.

    Source
    ------
    Shoeybi et al., arXiv:1909.08053, section 3; Korthikanti et al., arXiv:2205.05198, section 4. Kernels:
    `service.core.kernels`.
    """
    constants = engines.constants
    forward = input_gradient = weight_gradient = cast = 0.0
    column_input = column_weight = 0.0
    for matrix, rows in _matrices(architecture, work):
        one = engines.half if matrix.term == "router" else engines.forward
        accumulate = engines.half_weight_gradient if matrix.term == "router" else engines.weight_gradient
        forward += grouped_gemm_seconds(matrix.groups, rows, matrix.n, matrix.k, one)
        towards_input = grouped_gemm_seconds(matrix.groups, rows, matrix.k, matrix.n, one)
        towards_weight = grouped_gemm_seconds(matrix.groups, matrix.n, matrix.k, rows, accumulate)
        input_gradient += towards_input
        weight_gradient += towards_weight
        if matrix.name in _COLUMN_PARALLEL:
            column_input, column_weight = column_input + towards_input, column_weight + towards_weight
        if matrix.term != "router":
            cast += engines.cast_bytes * matrix.groups * rows * (matrix.k + matrix.n) / 2  # each way
    attention_forward, attention_backward = attention_seconds(architecture, work, engines)
    moved = element_wise_bytes(architecture, work, fused_attention=engines.attention is not None)
    looped = constants.expert_traffic_ratio if work.has_experts and not engines.cuda_graphs else 1.0
    around_forward, around_backward = (looped * each for each in _element_wise(moved, cast, engines))
    speed = engines.speed
    total_forward = forward / speed + attention_forward + around_forward
    total_backward = (input_gradient + weight_gradient) / speed + attention_backward + around_backward
    host = 0.0
    if not engines.cuda_graphs:
        host = constants.layer_host_seconds + constants.expert_host_seconds * _local_experts(architecture, work)
    return LayerSeconds(
        max(total_forward, host),
        max(total_backward, host),
        attention_forward,
        attention_backward,
        forward / speed,
        around_forward,
        column_input / speed,
        column_weight / speed,
    )


def attention_seconds(
    architecture: TransformerArchitecture, work: LayerWork, engines: TrainingEngines
) -> tuple[float, float]:
    r"""Return the time of one layer's scores, softmax and product with the values: forward, backward.

    Unfused, the scores are two batched multiplications, and what is written to memory between them is counted with the
    element-wise traffic.

    Parameters
    ----------
    architecture : TransformerArchitecture
        Heads and their widths. [-]
    work : LayerWork
        Sequences, their length, and over how many ranks heads and tokens are cut.
    engines : TrainingEngines
        Flash attention's engine, or 16 bit multiplications.

    Source
    ------
    `service.core.kernels.attention`; Korthikanti et al., arXiv:2205.05198, figure 2, for the unfused form.
    """
    a, plan = architecture, work.plan
    heads = a.num_attention_heads / plan.tensor_parallel_size
    kv_heads = heads if a.mla else max(1.0, a.num_key_value_heads / plan.tensor_parallel_size)
    values = a.mla.v_head_dim if a.mla else a.head_dim
    batch, s = work.micro_batch_size / plan.context_parallel_size, work.sequence_length
    if engines.attention is None:
        products = batch * heads
        scores = grouped_gemm_seconds(products, s, s, a.head_dim, engines.half)
        weighted = grouped_gemm_seconds(products, s, values, s, engines.half)
        seconds = (scores + weighted) / engines.half_speed
        if a.head_dim % _ALIGNED_ELEMENTS:
            seconds *= engines.constants.misaligned_scores_ratio
        return seconds, _SCORE_PRODUCTS_BACKWARD * seconds

    def flash(window: int | None, backward: bool) -> float:
        return flash_attention_seconds(
            batch, s, heads, kv_heads, a.head_dim, engines.attention, value_head_dim=values,  # type: ignore[arg-type]
            causal=work.causal, window_tokens=window, backward=backward,
        )  # fmt: skip

    def both(backward: bool) -> float:
        window = a.sliding_window or a.attention_chunk_size
        near = work.window_ratio * flash(window, backward) if work.window_ratio else 0.0
        return (near + (1.0 - work.window_ratio) * flash(None, backward)) / engines.half_speed

    return both(False), both(True)


def head_seconds(
    architecture: TransformerArchitecture, tokens: float, tensor_parallel_size: int, engines: TrainingEngines
) -> tuple[float, float]:
    r"""Return what the output head and the loss add to the last stage for one micro-batch: forward, backward.

    .. math:: t = t_{gemm}(T, V/t, h) + \frac{12\, \epsilon\, T V / t}{W} \text{ each way, the products twice backward}

    Parameters
    ----------
    architecture : TransformerArchitecture
        h hidden_size, V vocab_size. [-]
    tokens : float
        T, of the tensor-parallel group. [tokens]
    tensor_parallel_size : int
        t, ranks that share the vocabulary. [-]
    engines : TrainingEngines
        16 bit: the head is not quantised.

    Source
    ------
    Megatron-LM, cross_entropy.py: logits are widened to 4 bytes, and read for the maximum, the sum and the gradient.
    """
    n, k = math.ceil(architecture.vocab_size / tensor_parallel_size), architecture.hidden_size
    forward = gemm_seconds(tokens, n, k, engines.half)
    backward = gemm_seconds(tokens, k, n, engines.half) + gemm_seconds(n, k, tokens, engines.half_weight_gradient)
    logits = tokens * n * engines.constants.element_wise_ratio / engines.memory_bytes_per_second
    return forward / engines.half_speed + 14.0 * logits, backward / engines.half_speed + 10.0 * logits


def _element_wise(moved: ElementWiseBytes, cast: float, engines: TrainingEngines) -> tuple[float, float]:
    ratio, rate = engines.constants.element_wise_ratio, engines.memory_bytes_per_second
    return (ratio * moved.forward + cast) / rate, (ratio * moved.backward + cast) / rate


def _local_experts(a: TransformerArchitecture, work: LayerWork) -> float:
    return a.moe.num_experts / work.plan.expert_parallel_size if work.has_experts and a.moe else 0.0


def _matrices(a: TransformerArchitecture, work: LayerWork) -> Iterator[tuple[Matrix, float]]:
    """Yield one layer's matrices with their rows; those of experts have the mean rows of one expert."""
    plan = work.plan
    skipped = {"dense_mlp"} if work.has_experts else {"router", "shared_experts"}
    for matrix in dense_matrices(a, plan.tensor_parallel_size, absorbed=False):
        if matrix.term not in skipped:
            yield matrix, work.tokens / (plan.activation_divisor if matrix.term == "router" else 1)
    if work.has_experts and a.moe:
        e, cut = plan.expert_parallel_size, plan.expert_tensor_parallel_size
        rows = expert_tokens(a, work) * e / a.moe.num_experts
        yield from ((matrix, rows) for matrix in expert_matrices(a, e, cut))
