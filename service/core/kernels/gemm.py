"""Matrix multiplication: tiles on SMs, operands fed to them, bytes from HBM, and the floor of one kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Output tiles that libraries choose between, as rows of m and columns of n on one SM (CUTLASS's usual set; a pair of
# Blackwell SMs shares a tile of twice the rows).
_TILES = ((128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (64, 32))
_ALIGNED_ELEMENTS = 8  # 16 bytes in 16 bit, one vector load: rows that do not start on it fall to a slower kernel


@dataclass(frozen=True, slots=True)
class GemmConstants:
    """How near one number format on one GPU generation comes to its peaks.

    Parameters
    ----------
    peak_ratio : float
        e, share of the dense peak that full waves of large tiles reach. [-]
    memory_ratio : float
        r, share of the datasheet HBM rate. [-]
    feed_bytes_per_second : float
        L, operands that one SM takes in. [B/s]
    wave_ratio : float
        q, share of the rest of the last wave that stays idle: 1 whole tiles only, 0 perfect split-K. [-]
    ramp_elements : float
        k0, what starting and storing a tile costs, in elements of k. [-]
    floor_seconds : float
        One kernel, however small, inside a CUDA graph. [s]
    sharpness : float
        p of the p-norm of compute and memory: infinite if they overlap fully, 1 if not at all. [-]
    least_tile_columns : int
        Narrowest tile: 128 where the instruction takes no less of the weights (block-scaled FP4). [-]
    misaligned_ratio : float
        How much longer it computes if n or k is no multiple of 8 elements. [-]
    """

    peak_ratio: float
    memory_ratio: float
    feed_bytes_per_second: float
    wave_ratio: float
    ramp_elements: float
    floor_seconds: float
    sharpness: float
    least_tile_columns: int = 32
    misaligned_ratio: float = 1.46


@dataclass(frozen=True, slots=True)
class GemmEngine:
    """One number format on one accelerator: peaks, element sizes and constants.

    Parameters
    ----------
    peak_flops_per_second : float
        F, dense. [FLOP/s]
    memory_bandwidth_bytes_per_second : float
        W, datasheet HBM rate. [B/s]
    sm_count : int
        Streaming multiprocessors. [-]
    activation_bytes, weight_bytes, output_bytes : float
        w_a, w_w, w_o of an element, with its part of a block's scale. [B]
    """

    peak_flops_per_second: float
    memory_bandwidth_bytes_per_second: float
    sm_count: int
    activation_bytes: float
    weight_bytes: float
    output_bytes: float
    constants: GemmConstants


def gemm_seconds(m: float, n: float, k: float, engine: GemmEngine) -> float:
    r"""Return how long one matrix multiplication takes, [m, k] activations times [k, n] weights.

    .. math:: t = t_0 + \left(t_c^p + t_m^p\right)^{1/p}, \quad t_m = \frac{w_a m k + w_w n k + w_o m n}{r W}

    and, over the tiles :math:`(a, b)` a library can choose,

    .. math:: t_c = \min_{a, b} \left(v + q (\lceil v \rceil - v)\right)
        \max\left(\frac{2 a b S}{e F}, \frac{w_a a + w_w b}{L}\right) (k + k_0), \quad
        v = \lceil m/a \rceil \lceil n/b \rceil / S

    Parameters
    ----------
    m : float
        Rows: tokens. No rows take no time. [-]
    n : float
        Columns of the weights on this GPU. [-]
    k : float
        Summed dimension. [-]
    engine : GemmEngine
        F, W, S (SMs), w and the constants.

    Assumptions
    -----------
    Back to back inside a CUDA graph, weights not in L2. Static scales: an activation that is scaled at run time pays
    `service.core.kernels.memory_bound.quantise_seconds` as well.

    Source
    ------
    Williams et al., "Roofline", CACM 52 (2009); NVIDIA, "Matrix Multiplication Background User's Guide" (tile and wave
    quantisation). Constants: hardware_catalog/calibrations/kernels-*.yaml, on validation/kernel_gemm.csv.
    """
    return grouped_gemm_seconds(1.0, m, n, k, engine)


def grouped_gemm_seconds(num_groups: float, m_per_group: float, n: float, k: float, engine: GemmEngine) -> float:
    r"""Return how long one kernel takes for several multiplications of one shape: the experts of a MoE layer.

    As `gemm_seconds` with all groups' tiles on the same SMs, v = G ceil(m/a) ceil(n/b) / S, and G times the bytes.

    Parameters
    ----------
    num_groups : float
        G, groups that have any rows: experts that are hit. [-]
    m_per_group : float
        Rows of each; the mean may stand for all, which is a little fast if they differ. [-]
    n : float
        Columns of the weights on this GPU. [-]
    k : float
        Summed dimension. [-]
    engine : GemmEngine
        As in `gemm_seconds`.

    Assumptions
    -----------
    Unvalidated: no public table of grouped kernels was found; the law and constants are those of one multiplication.

    Source
    ------
    As `gemm_seconds`.
    """
    if num_groups <= 0 or m_per_group <= 0:
        return 0.0
    constants = engine.constants
    compute = _tile_seconds(num_groups, m_per_group, n, engine) * (k + constants.ramp_elements)
    if n % _ALIGNED_ELEMENTS or k % _ALIGNED_ELEMENTS:
        compute *= constants.misaligned_ratio
    moved = num_groups * (
        m_per_group * k * engine.activation_bytes + n * k * engine.weight_bytes + m_per_group * n * engine.output_bytes
    )
    memory = moved / (engine.memory_bandwidth_bytes_per_second * constants.memory_ratio)
    longer, shorter = (compute, memory) if compute > memory else (memory, compute)
    sharpness = constants.sharpness
    both: float = (1.0 + (shorter / longer) ** sharpness) ** (1.0 / sharpness)
    return constants.floor_seconds + longer * both


def _tile_seconds(num_groups: float, m: float, n: float, engine: GemmEngine) -> float:
    """Seconds per element of k with the fastest tile: a smaller one fills the SMs, a larger one reuses more."""
    constants, sm_count = engine.constants, engine.sm_count
    multiply = 2.0 * sm_count / (engine.peak_flops_per_second * constants.peak_ratio)
    feed_a = engine.activation_bytes / constants.feed_bytes_per_second
    feed_b = engine.weight_bytes / constants.feed_bytes_per_second
    idle_ratio, least = constants.wave_ratio, constants.least_tile_columns
    best = math.inf
    for rows, columns in _TILES:
        if columns < least:
            continue
        waves = num_groups * math.ceil(m / rows) * math.ceil(n / columns) / sm_count
        waves += idle_ratio * (math.ceil(waves) - waves)
        seconds = waves * max(rows * columns * multiply, rows * feed_a + columns * feed_b)
        if seconds < best:
            best = seconds
    return best
