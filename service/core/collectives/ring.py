"""The ring: every rank passes shares to its neighbour. NCCL's way for most sizes.

An all-reduce takes 2(n-1) dependent steps, an all-gather or a reduce-scatter n-1; each moves S/n bytes.
Broadcast and reduce are the same pipe with the whole buffer passing every rank.
"""

from __future__ import annotations

import math

from service.core.collectives.cost import FREE, Collective, CollectiveCost, Protocol
from service.core.collectives.network import hop, nic_rate, ring_crossings
from service.core.collectives.path import CollectivePath, LowLatencyConstants, SimpleRingConstants

_CHANNEL_TRAFFIC_BYTES = 32768  # NCCL gives a channel at least this much traffic (src/include/channel.h)
_LL_TRAFFIC = 4  # LL counts its bytes fourfold there
_PIPELINE_CHUNK_BYTES = 2097152  # a Simple ring step: 4 of the 8 slots of a 4 MiB buffer


def ring_steps(collective: Collective, num_ranks: int) -> int:
    """Return the dependent steps of a ring.

    Parameters
    ----------
    collective : Collective
        all_reduce, all_gather, reduce_scatter, broadcast or reduce.
    num_ranks : int
        n. [-]

    Source
    ------
    Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69
    (2009), section 3.
    """
    return (2 if collective is Collective.ALL_REDUCE else 1) * (num_ranks - 1)


def ring(
    collective: Collective, protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath
) -> CollectiveCost:
    r"""Return what a ring costs.

    LL and LL128 pay each hop, and the transfer of what a channel's threads do not move in one go (a line, w):

    .. math:: t = (a + s h)(1 + \epsilon \log_{c_{max}} c) + s \frac{c}{B} \max\left(0, \frac{S}{n c} - w\right)

    with half of w for the steps of an all-gather, which store every word twice.

    Simple moves S/n a step in two slices, so that a neighbour's handshake l hides behind the other slice
    once half a step takes longer than it; the local copy of one share hides behind nothing:

    .. math:: t = a + s \max\left(\frac{S}{nB} + d, \frac{S}{2nB} + l\right) + l + \frac{S}{nC}

    Parameters
    ----------
    collective : Collective
        all_reduce, all_gather, reduce_scatter, broadcast or reduce.
    protocol : Protocol
        Which of the two laws, and its constants.
    num_ranks : int
        n; 1 is free. [-]
    size_bytes : float
        S as in nccl-tests. [B]
    path : CollectivePath
        a, h, epsilon, B, w (LL, LL128) or a, d, l, B, C (Simple); c channels from NCCL's rule.

    Between domains the ring leaves each by all its NICs at once, and k of its n edges are hops over the network.

    Assumptions
    -----------
    Out of place, eager launch, one collective at a time. Broadcast and reduce are unvalidated: no public table.

    Source
    ------
    Steps: Patarasuk and Yuan 2009. Slices, chunks and channels: NVIDIA/nccl 5067397c, src/device/all_reduce.h,
    src/enqueue.cc. Constants: hardware_catalog/calibrations.
    """
    if num_ranks == 1:
        return FREE
    if collective in (Collective.BROADCAST, Collective.REDUCE):
        return _pass_whole_buffer(protocol, num_ranks, size_bytes, path)
    steps = ring_steps(collective, num_ranks)
    share_bytes = size_bytes / num_ranks
    wire_bytes = steps * share_bytes
    crossings = ring_crossings(steps, path)
    rate = _rate(protocol, path)
    bandwidth = wire_bytes / rate
    network = crossings * hop(protocol, path, tree=False)
    if protocol is Protocol.SIMPLE:
        total = _simple_seconds(steps, share_bytes, path.simple, rate) + network
    else:
        constants = path.ll if protocol is Protocol.LL else path.ll128
        channels = max(path.min_channels, _channels(collective, protocol, size_bytes, path.max_channels))
        beyond = _beyond_first_line(collective, share_bytes / channels, constants.line_bytes)
        hops = _hops_seconds(steps - crossings, channels, path.max_channels, constants) + network
        total = max(bandwidth, hops + bandwidth * beyond)
    return CollectiveCost(total - bandwidth, bandwidth, wire_bytes, steps)


def _rate(protocol: Protocol, path: CollectivePath) -> float:
    """Rate of a ring's payload out of one GPU: the link's, or that of its domain's NICs, which all rings leave by."""
    nics = path.ranks_per_domain * nic_rate(protocol, path)
    ctas = path.max_channels * path.channel_bytes_per_second
    if protocol is Protocol.SIMPLE:
        return min(path.simple.link_ratio * path.bandwidth_bytes_per_second, nics, ctas)
    constants = path.ll if protocol is Protocol.LL else path.ll128
    return min(constants.bandwidth_bytes_per_second, path.bandwidth_bytes_per_second, nics, ctas)


def _simple_seconds(steps: int, share_bytes: float, simple: SimpleRingConstants, rate: float) -> float:
    transfer = share_bytes / rate
    step = max(transfer + simple.step_seconds, transfer / 2 + simple.handshake_seconds)
    return simple.launch_seconds + steps * step + simple.handshake_seconds + share_bytes / simple.copy_bytes_per_second


def _beyond_first_line(collective: Collective, channel_bytes: float, line_bytes: float) -> float:
    """Share of a step's bytes that its first line does not hold, averaged over the steps.

    A step that adds stores each word once, for the neighbour; a step that forwards stores it twice, for the neighbour
    and in the output, so half as much of it is in the first line. An all-reduce has as many of one as of the other.
    """
    adding = max(0.0, 1 - line_bytes / channel_bytes)
    forwarding = max(0.0, 1 - line_bytes / 2 / channel_bytes)
    if collective is Collective.ALL_GATHER:
        return forwarding
    return (adding + forwarding) / 2 if collective is Collective.ALL_REDUCE else adding


def _hops_seconds(steps: float, channels: int, max_channels: int, constants: LowLatencyConstants) -> float:
    crowding = 1.0 + constants.crowding_ratio * math.log(channels) / math.log(max(max_channels, 2))
    return (constants.launch_seconds + steps * constants.hop_seconds) * crowding


def _channels(collective: Collective, protocol: Protocol, size_bytes: float, max_channels: int) -> int:
    """Channels that NCCL gives a collective: one for each 32 KiB of traffic, as far as there are any."""
    traffic_bytes = size_bytes * (2 if collective is Collective.ALL_REDUCE else 1)
    if protocol is Protocol.LL:
        traffic_bytes *= _LL_TRAFFIC
    return max(1, min(max_channels, math.ceil(traffic_bytes / _CHANNEL_TRAFFIC_BYTES)))


def _pass_whole_buffer(protocol: Protocol, num_ranks: int, size_bytes: float, path: CollectivePath) -> CollectiveCost:
    """Broadcast and reduce: S passes every rank, chunk by chunk; the pipe fills once over n-1 hops."""
    steps = num_ranks - 1
    crossings = ring_crossings(steps, path)
    rate = _rate(protocol, path)
    network = crossings * hop(protocol, path, tree=False)
    if protocol is Protocol.SIMPLE:
        chunk = min(size_bytes / num_ranks, _PIPELINE_CHUNK_BYTES * path.max_channels)
        hops = path.simple.launch_seconds + steps * (path.simple.handshake_seconds + chunk / rate)
    else:
        constants = path.ll if protocol is Protocol.LL else path.ll128
        hops = constants.launch_seconds + (steps - crossings) * constants.hop_seconds
    return CollectiveCost(hops + network, size_bytes / rate, size_bytes, steps)


COSTS = dict.fromkeys(
    (
        Collective.ALL_REDUCE,
        Collective.ALL_GATHER,
        Collective.REDUCE_SCATTER,
        Collective.BROADCAST,
        Collective.REDUCE,
    ),
    ring,
)
PROTOCOLS = (Protocol.LL, Protocol.LL128, Protocol.SIMPLE)
