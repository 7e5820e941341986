"""algbw and busbw: the two rates of nccl-tests, and what "size" means for each collective."""

from __future__ import annotations

from service.core.collectives.cost import Collective

_SENDS_EVERY_SHARE_TWICE = frozenset({Collective.ALL_REDUCE})
_SENDS_EVERY_SHARE_BUT_ONES_OWN = frozenset({Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL})

SIZE_MEANS = {
    Collective.ALL_REDUCE: "the vector that every rank holds (not multiplied by the ranks)",
    Collective.ALL_GATHER: "what every rank ends with: n times what each contributes",
    Collective.REDUCE_SCATTER: "what every rank starts with: n times what each ends with",
    Collective.ALL_TO_ALL: "what every rank sends in all: n times the chunk for one peer",
    Collective.BROADCAST: "the buffer of the root",
    Collective.REDUCE: "the buffer of every rank",
    Collective.SEND_RECV: "what every rank sends to its one peer",
}


def busbw_factor(collective: Collective, num_ranks: int) -> float:
    r"""Return busbw / algbw of a collective.

    .. math:: f = 2\frac{n-1}{n} \text{ (all-reduce)}, \quad \frac{n-1}{n}, \quad 1

    Parameters
    ----------
    collective : Collective
        The operation.
    num_ranks : int
        n. [-]

    Returns
    -------
    float
        f; 0 for a single rank, which sends nothing. [-]

    Source
    ------
    NVIDIA/nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth".
    """
    n = num_ranks
    if n == 1:
        return 0.0
    if collective in _SENDS_EVERY_SHARE_TWICE:
        return 2 * (n - 1) / n
    if collective in _SENDS_EVERY_SHARE_BUT_ONES_OWN:
        return (n - 1) / n
    return 1.0


def algbw(size_bytes: float, seconds: float) -> float:
    """Return the algorithm bandwidth S / t.

    Parameters
    ----------
    size_bytes : float
        S, the size column of nccl-tests. [B]
    seconds : float
        t. [s]

    Source
    ------
    NVIDIA/nccl-tests, doc/PERFORMANCE.md, "Algorithm bandwidth".
    """
    return size_bytes / seconds if seconds > 0 else 0.0


def busbw(collective: Collective, num_ranks: int, size_bytes: float, seconds: float) -> float:
    """Return the bus bandwidth: algbw times the factor, comparable with a link's rate when the ring is used.

    Parameters
    ----------
    collective : Collective
        The operation.
    num_ranks : int
        n. [-]
    size_bytes : float
        S. [B]
    seconds : float
        t. [s]

    Source
    ------
    NVIDIA/nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth".
    """
    return busbw_factor(collective, num_ranks) * algbw(size_bytes, seconds)


def seconds_at_busbw(collective: Collective, num_ranks: int, size_bytes: float, busbw_bytes_per_second: float) -> float:
    """Return the time of a collective at a given bus bandwidth: f S / busbw.

    Parameters
    ----------
    collective : Collective
        The operation.
    num_ranks : int
        n. [-]
    size_bytes : float
        S. [B]
    busbw_bytes_per_second : float
        One direction. [B/s]

    Source
    ------
    NVIDIA/nccl-tests, doc/PERFORMANCE.md, solved for the time.
    """
    return busbw_factor(collective, num_ranks) * size_bytes / busbw_bytes_per_second


def total_size_bytes(collective: Collective, num_ranks: int, per_rank_bytes: int) -> int:
    """Return S from what one rank contributes (all-gather), keeps (reduce-scatter) or sends a peer (all-to-all).

    Parameters
    ----------
    collective : Collective
        The operation.
    num_ranks : int
        n. [-]
    per_rank_bytes : int
        The per-rank share; the whole vector for the other collectives. [B]

    Source
    ------
    NVIDIA/nccl-tests, doc/PERFORMANCE.md; src/all_gather.cu, src/reduce_scatter.cu, src/alltoall.cu.
    """
    return per_rank_bytes * num_ranks if collective in _SENDS_EVERY_SHARE_BUT_ONES_OWN else per_rank_bytes
