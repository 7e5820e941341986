"""Kernels that only move bytes: norms, activations, residuals, rotary embedding, casts, the optimizer."""

from __future__ import annotations

from dataclasses import dataclass

_QUANTISED_BYTES = 1  # fp8 and int8


@dataclass(frozen=True, slots=True)
class MemoryBoundConstants:
    """What a kernel costs that does no arithmetic to speak of.

    Parameters
    ----------
    memory_ratio : float
        r, share of the datasheet HBM rate. [-]
    floor_seconds : float
        One kernel, however small, inside a CUDA graph. [s]
    launch_seconds : float
        The host's time to launch one, which is the least it takes without a graph. [s]
    quantise_floor_seconds : float
        The two kernels that find a tensor's scale and apply it, however small. [s]
    """

    memory_ratio: float
    floor_seconds: float
    launch_seconds: float
    quantise_floor_seconds: float


def memory_bound_seconds(
    moved_bytes: float,
    memory_bandwidth_bytes_per_second: float,
    constants: MemoryBoundConstants,
    *,
    num_kernels: float = 1.0,
    cuda_graphs: bool = False,
) -> float:
    r"""Return how long kernels take that read and write so many bytes.

    .. math:: t = \max\left(j t_0 + \frac{B}{r W}, j t_l\right)

    Parameters
    ----------
    moved_bytes : float
        B, read and written, all kernels together. [B]
    memory_bandwidth_bytes_per_second : float
        W, datasheet HBM rate. [B/s]
    constants : MemoryBoundConstants
        r, t_0 and t_l, the launch that binds without a CUDA graph.
    num_kernels : float
        j, kernels that move them. [-]
    cuda_graphs : bool
        Whether they are launched by a graph.

    Source
    ------
    Williams et al., "Roofline", CACM 52 (2009). Constants: hardware_catalog/calibrations/kernels-*.yaml.
    """
    seconds = num_kernels * constants.floor_seconds + moved_bytes / (
        memory_bandwidth_bytes_per_second * constants.memory_ratio
    )
    return seconds if cuda_graphs else max(seconds, num_kernels * constants.launch_seconds)


def quantise_seconds(
    num_elements: float,
    memory_bandwidth_bytes_per_second: float,
    constants: MemoryBoundConstants,
    *,
    element_bytes: float = 2.0,
) -> float:
    r"""Return what scaling an activation at run time costs (dynamic FP8): once for the scale, once to apply it.

    .. math:: t = t_q + \frac{N (2 w + 1)}{r W}

    Parameters
    ----------
    num_elements : float
        N, of the activation. [-]
    memory_bandwidth_bytes_per_second : float
        W, datasheet HBM rate. [B/s]
    constants : MemoryBoundConstants
        r and t_q.
    element_bytes : float
        w, before. [B]

    Source
    ------
    Column compute_scale_seconds of validation/kernel_gemm.csv.
    """
    moved = num_elements * (2.0 * element_bytes + _QUANTISED_BYTES)
    return constants.quantise_floor_seconds + moved / (memory_bandwidth_bytes_per_second * constants.memory_ratio)
