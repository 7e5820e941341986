"""MFU and HFU: what of the dense peak a step's FLOPs come to."""

from __future__ import annotations


def utilization_ratio(flops: float, step_seconds: float, gpus: float, peak_flops_per_second: float) -> float:
    r"""Return MFU of model FLOPs, or HFU of hardware FLOPs.

    .. math:: \text{MFU} = \frac{F}{T\, n\, F_{peak}}

    Parameters
    ----------
    flops : float
        F, of a step of all GPUs. [FLOP]
    step_seconds : float
        T. [s]
    gpus : float
        n. [-]
    peak_flops_per_second : float
        Dense peak of one GPU in the format that the step multiplies in. [FLOP/s]

    Source
    ------
    Chowdhery et al., "PaLM", arXiv:2204.02311, appendix B.
    """
    return flops / (step_seconds * gpus * peak_flops_per_second)


def steps_of(total_tokens: float, global_batch_size: float, sequence_length: float) -> float:
    r"""Return how many steps a budget of tokens takes.

    .. math:: n = \frac{D}{B s}

    Parameters
    ----------
    total_tokens : float
        D. [tokens]
    global_batch_size : float
        B, sequences of a step. [-]
    sequence_length : float
        s. [tokens]

    Source
    ------
    Definition.
    """
    return total_tokens / (global_batch_size * sequence_length)
