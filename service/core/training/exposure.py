"""What of a step's communication nothing hides: the rules of Megatron, DDP and FSDP."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.training.block import LayerSeconds

_EXPOSED_CHUNK_RATIO = 0.25  # userbuffers cut a message in four: one chunk is before or after the multiplication


def exposed_seconds(communication: float, window: float, slowdown_ratio: float) -> float:
    r"""Return what a message adds that is sent while the GPU computes.

    .. math:: t = \max(0, c - w) + \gamma \min(c, w)

    Parameters
    ----------
    communication : float
        c, time of the message alone. [s]
    window : float
        w, computing that it can hide behind. [s]
    slowdown_ratio : float
        gamma, what the computing loses to SMs and memory traffic of the message. [-]

    Source
    ------
    Isaev et al., "Calculon", SC23, section 3: messages take processor time from what they overlap with.
    """
    return max(0.0, communication - window) + slowdown_ratio * min(communication, window)


@dataclass(frozen=True, slots=True)
class TensorMessages:
    """The collectives of one layer over its tensor-parallel group, each alone. [s]

    Parameters
    ----------
    all_reduce : float
        One of the four without sequence parallelism.
    gather, scatter : float
        One all-gather and one reduce-scatter with it.
    """

    all_reduce: float = 0.0
    gather: float = 0.0
    scatter: float = 0.0


def tensor_exposed_seconds(
    messages: TensorMessages, layer: LayerSeconds, *, overlapped: bool, hides_gradients: bool, slowdown_ratio: float
) -> tuple[float, float]:
    r"""Return what tensor parallelism adds to one layer, forward and backward.

    Forward: two all-reduces, or two all-gathers and two reduce-scatters, all on the critical path; with userbuffers a
    quarter of each. Backward: the all-reduces of the input's gradient hide behind the product for the weight's
    gradient; with sequence parallelism inputs are gathered again behind the product for the input's gradient, the
    reduce-scatters hide behind the weight's, and the two all-gathers of the row-parallel matrices are exposed.

    Parameters
    ----------
    messages : TensorMessages
        The group's collectives; zero without tensor parallelism.
    layer : LayerSeconds
        What they can hide behind.
    overlapped : bool
        Whether messages are cut and multiplied piece by piece (Transformer Engine's userbuffers, asynchronous TP).
    hides_gradients : bool
        Whether the backward pass sends the input's gradient while it computes the weight's; forks of Megatron-LM from
        before 2022, Megatron-DeepSpeed among them, do not.
    slowdown_ratio : float
        What computing loses while a message runs beside it. [-]

    Source
    ------
    Shoeybi et al., arXiv:1909.08053, section 3; Korthikanti et al., arXiv:2205.05198, section 4.2.2; Megatron-LM,
    tensor_parallel/layers.py; NVIDIA Megatron-Bridge performance guide (one of four chunks of an overlapped message).
    """
    if messages.gather == 0.0 and messages.all_reduce == 0.0:
        return 0.0, 0.0
    behind_input, behind_weight = layer.input_gradient / 2, layer.weight_gradient / 2  # two column-parallel matrices
    if not hides_gradients:
        each = messages.all_reduce or messages.gather + messages.scatter
        return 2 * each, 2 * each
    if messages.gather == 0.0:
        hidden = exposed_seconds(messages.all_reduce, behind_weight, slowdown_ratio)
        return 2 * messages.all_reduce, 2 * hidden
    both = messages.gather + messages.scatter
    again = exposed_seconds(messages.gather, behind_input, slowdown_ratio)
    scattered = exposed_seconds(messages.scatter, behind_weight, slowdown_ratio)
    if overlapped:
        part = _EXPOSED_CHUNK_RATIO + slowdown_ratio * (1 - _EXPOSED_CHUNK_RATIO)
        return 2 * part * both, 2 * (part * messages.gather + again + scattered)
    return 2 * both, 2 * (messages.gather + again + scattered)


def context_exposed_seconds(
    exchange: float, layer: LayerSeconds, *, hidden: bool, backward_exchanges: float, slowdown_ratio: float
) -> tuple[float, float]:
    r"""Return what context parallelism adds to one layer, forward and backward.

    Parameters
    ----------
    exchange : float
        Keys and values of all ranks passed to all, or the all-to-alls of one pass, alone. [s]
    layer : LayerSeconds
        Attention is what a ring hides behind.
    hidden : bool
        Whether it is a ring: each step's keys and values travel while the last ones are attended to.
    backward_exchanges : float
        How many times as much travels backward: keys and values again, and their gradients. [-]
    slowdown_ratio : float
        As in `exposed_seconds`. [-]

    Source
    ------
    Liu et al., "Ring Attention", arXiv:2310.01889; NVIDIA Megatron-Bridge performance guide: p2p hides, all-gather and
    all-to-all do not.
    """
    if not hidden:
        return exchange, backward_exchanges * exchange
    return (
        exposed_seconds(exchange, layer.attention_forward, slowdown_ratio),
        exposed_seconds(backward_exchanges * exchange, layer.attention_backward, slowdown_ratio),
    )


def gathered_layers_exposed_seconds(
    gather: float, scatter: float, forward: float, backward: float, layers: float, *, slowdown_ratio: float,
    keeps_gathered: bool, scatters: bool,
) -> float:  # fmt: skip
    r"""Return what ZeRO-3 or FSDP adds to one micro-batch: layers are gathered one ahead, gradients scattered behind.

    .. math:: t = g + l\, x(g, F) + l\, x(g + r, B) + r, \qquad x(c, w) = \max(0, c - w) + \gamma \min(c, w)

    Parameters
    ----------
    gather, scatter : float
        g and r, of one layer. [s]
    forward, backward : float
        F and B, of one layer, recomputation and its other messages in B. [s]
    layers : float
        l. [-]
    slowdown_ratio : float
        gamma. [-]
    keeps_gathered : bool
        Whether parameters stay gathered from the forward to the backward pass (ZeRO-2, or no resharding).
    scatters : bool
        Whether this micro-batch scatters its gradients, or adds them up locally.

    Source
    ------
    Zhao et al., "PyTorch FSDP", VLDB 2023, arXiv:2304.11277, section 4: one unit prefetched; the first all-gather and
    the last reduce-scatter stand alone.
    """
    again = 0.0 if keeps_gathered else gather
    scattered = scatter if scatters else 0.0
    hidden = exposed_seconds(gather, forward, slowdown_ratio) + exposed_seconds(
        again + scattered, backward, slowdown_ratio
    )
    return gather + scattered + max(0.0, layers - 1) * hidden


def bucketed_exposed_seconds(communication: float, last_bucket: float, window: float, slowdown_ratio: float) -> float:
    r"""Return what reducing gradients, or gathering parameters, adds to a step that overlaps it in buckets.

    .. math:: t = \max(b, c - w) + \gamma \min(c - b, w)

    Parameters
    ----------
    communication : float
        c, all buckets. [s]
    last_bucket : float
        b <= c: there is nothing left to hide the last one behind. [s]
    window : float
        w, the backward pass of the last micro-batch, or the forward pass of the first. [s]
    slowdown_ratio : float
        gamma. [-]

    Source
    ------
    Li et al., "PyTorch Distributed", VLDB 2020, arXiv:2006.15704; Megatron-LM, distributed_data_parallel.py: buckets
    of max(40 million, 1 million d) parameters.
    """
    return max(last_bucket, communication - window) + slowdown_ratio * max(
        0.0, min(communication - last_bucket, window)
    )
