"""Pipeline schedules: how long a step takes when stages pass micro-batches along, and what of it is waiting."""

from __future__ import annotations

from collections.abc import Sequence


def even_stages(num_layers: int, pipeline_parallel_size: int) -> tuple[int, ...]:
    r"""Return the layers of each stage, as even as they go; the stages in the middle take what is left over.

    .. math:: l_i \in \{\lfloor L/p \rfloor, \lceil L/p \rceil\}

    Parameters
    ----------
    num_layers : int
        L. [-]
    pipeline_parallel_size : int
        p <= L. [-]

    Source
    ------
    Grattafiori et al., "The Llama 3 Herd of Models", arXiv:2407.21783, section 3.3.2: the first stage also has the
    embedding and the last the output head, so these have a layer less.
    """
    p = pipeline_parallel_size
    least, over = divmod(num_layers, p)
    first = (p - over) // 2
    return tuple(least + (1 if first <= i < first + over else 0) for i in range(p))


def bubble_ratio(pipeline_parallel_size: float, micro_batches: float, virtual_pipeline_size: float = 1) -> float:
    r"""Return the waiting of a pipeline with even stages, over the time in which it works.

    .. math:: \beta = \frac{p - 1}{m v}

    Parameters
    ----------
    pipeline_parallel_size : float
        p. [-]
    micro_batches : float
        m, of one data-parallel rank in a step. [-]
    virtual_pipeline_size : float
        v, chunks of a stage; 1 is 1F1B without interleaving. [-]

    Source
    ------
    Narayanan et al., arXiv:2104.04473, sections 2.2.1 and 2.2.2.
    """
    return (pipeline_parallel_size - 1) / (micro_batches * virtual_pipeline_size)


def in_flight_micro_batches(
    stage: int, pipeline_parallel_size: int, micro_batches: int, virtual_pipeline_size: int = 1
) -> float:
    r"""Return how many micro-batches' activations a stage keeps at its fullest, in units of all its layers.

    .. math:: n_i = \min(m, p - i) \quad (v = 1), \qquad
        n_i = \min\left(m, \frac{2 (p - i - 1) + (v - 1) p + 1}{v}\right) \quad (v > 1)

    Parameters
    ----------
    stage : int
        i, from 0. [-]
    pipeline_parallel_size : int
        p. [-]
    micro_batches : int
        m. [-]
    virtual_pipeline_size : int
        v. [-]

    Source
    ------
    Korthikanti et al., arXiv:2205.05198, section 4.2.3: the first stage keeps L (1 + (p - 1) / (p v)) layers' worth;
    Megatron-LM, schedules.py: warm-up micro-batches of an interleaved stage.
    """
    p, m, v = pipeline_parallel_size, micro_batches, virtual_pipeline_size
    if v == 1:
        return float(min(m, p - stage))
    return min(float(m), (2 * (p - stage - 1) + (v - 1) * p + 1) / v)


def pipeline_seconds(stage_seconds: Sequence[float], micro_batches: float, virtual_pipeline_size: float = 1) -> float:
    r"""Return how long all micro-batches take to pass: the slowest stage paces, the others fill and drain.

    .. math:: T = \frac{1}{v} \sum_i t_i + \left(m - \frac{1}{v}\right) \max_i t_i

    which is :math:`(m + (p - 1) / v) t` for even stages.

    Parameters
    ----------
    stage_seconds : Sequence[float]
        t_i, forward and backward of one micro-batch on each stage. [s]
    micro_batches : float
        m. [-]
    virtual_pipeline_size : float
        v. [-]

    Source
    ------
    Narayanan et al., arXiv:2104.04473, section 2.2, for stages that need not be even.
    """
    slowest = max(stage_seconds)
    return sum(stage_seconds) / virtual_pipeline_size + (micro_batches - 1 / virtual_pipeline_size) * slowest
