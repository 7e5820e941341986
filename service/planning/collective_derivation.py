"""The working of a collective estimate, line by line: what a reader with a pencil would write."""

from __future__ import annotations

from collections.abc import Iterator

from service.core.collectives.bandwidth import SIZE_MEANS, busbw_factor
from service.core.collectives.cost import Algorithm, Collective, CollectiveCost, Protocol
from service.core.collectives.custom_all_reduce import FrameworkKernels, KernelConstants
from service.core.collectives.network import ideal_rate
from service.core.collectives.path import CollectivePath
from service.core.hardware import System
from service.core.numerics import Dtype
from service.core.placement import Placement
from service.planning.estimates import DerivationLine

_NCCL_TESTS = "NVIDIA/nccl-tests, doc/PERFORMANCE.md"
_NCCL_TUNER = "NVIDIA/nccl 5067397c, src/graph/tuning.cc"


def buffer_lines(
    collective: Collective, size_bytes: int, model_id: str | None, parameters: int | None, dtype: Dtype
) -> Iterator[DerivationLine]:
    """Yield where the bytes come from: a model's gradients, or the size asked for."""
    if parameters is not None:
        yield DerivationLine(
            "P", f"parameters of {model_id}", "sum over the architecture", parameters, "1", "model_catalog"
        )
        yield DerivationLine("d", f"bytes of one {dtype} element", str(dtype), dtype.size_bytes, "B", "definition")
        yield DerivationLine(
            "S", "buffer: one gradient for each parameter", f"P × d = {parameters} × {dtype.size_bytes}", size_bytes,
            "B", "definition",
        )  # fmt: skip
    else:
        yield DerivationLine("S", SIZE_MEANS[collective], "asked for", size_bytes, "B", _NCCL_TESTS)


def ideal_lines(
    collective: Collective, placement: Placement, size_bytes: int, system: System, path: CollectivePath
) -> Iterator[DerivationLine]:
    """Yield the textbook bound, at the rate one direction has and at the headline that sums both."""
    n, link = placement.num_ranks, path.bandwidth_bytes_per_second
    factor = busbw_factor(collective, n)
    wire = factor * size_bytes
    networks = "hardware_catalog/networks"
    yield DerivationLine("n", "GPUs in the group", _where(placement, system), n, "1", "asked for")
    yield DerivationLine("f", "bytes on the wire per byte of buffer", _factor(collective, n), factor, "1", _NCCL_TESTS)
    yield DerivationLine("W", "what each GPU sends, one direction", "f × S", wire, "B", _NCCL_TESTS)
    yield DerivationLine(
        "B_headline", f"the vendor's figure for {system.scale_up.network}: both directions summed", "2 × B", 2 * link,
        "B/s", networks,
    )  # fmt: skip
    if path.fabric is None:
        yield DerivationLine(
            "t_headline", "not reachable: each GPU sends W and receives W, and a direction has only half of B_headline",
            "W / B_headline", wire / (2 * link), "s", "arithmetic",
        )  # fmt: skip
        yield DerivationLine("B", "the links of one GPU, one direction", "B_headline / 2", link, "B/s", networks)
        yield DerivationLine(
            "t_ideal", "the ring formula at the rate of one direction", "W / B", wire / link, "s", _NCCL_TESTS
        )
        return
    yield DerivationLine("B", "the links of one GPU, one direction", "B_headline / 2", link, "B/s", networks)
    nic = path.fabric.line_bytes_per_second
    yield DerivationLine(
        "B_nic", f"one GPU's share of the NICs, one direction ({_network(system)})", "datasheet", nic, "B/s", networks
    )
    rate = ideal_rate(collective, path)
    expression = {
        Collective.ALL_TO_ALL: "min(B × (n − 1) / (g − 1), B_nic × (n − 1) / (n − g))",
        Collective.SEND_RECV: "min(B, B_nic)",
    }.get(collective, f"min(B, {path.ranks_per_domain} × B_nic)")
    yield DerivationLine("B_bound", "bus bandwidth that the line rates allow", expression, rate, "B/s", _NCCL_TESTS)
    yield DerivationLine("t_ideal", "the textbook bound at that rate", "W / B_bound", wire / rate, "s", _NCCL_TESTS)


def _factor(collective: Collective, n: int) -> str:
    if collective is Collective.ALL_REDUCE:
        return f"2 × ({n} − 1) / {n}"
    one_way = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL)
    return f"({n} − 1) / {n}" if collective in one_way else "1"


def choice_lines(
    algorithm: Algorithm, protocol: Protocol, cost: CollectiveCost, num_ranks: int, size_bytes: int, asked: bool,
    source: str,
) -> Iterator[DerivationLine]:  # fmt: skip
    """Yield what NCCL really does and what that takes."""
    why = "asked for" if asked else "NCCL's tuner finds it fastest"
    yield DerivationLine("way", _STORY[algorithm], why, f"{algorithm}/{protocol}", "", _NCCL_TUNER)
    expression = _SENDS.get(algorithm, "W")
    yield DerivationLine("W_way", "what each GPU sends this way", expression, cost.bytes_on_wire_per_gpu, "B", source)
    if cost.bandwidth_seconds > 0:
        rate = cost.bytes_on_wire_per_gpu / cost.bandwidth_seconds
        yield DerivationLine(
            "B_way", "payload rate that this way reaches, one direction", "fitted", rate, "B/s", source
        )
    yield DerivationLine("t_bandwidth", "bytes over that rate", "W_way / B_way", cost.bandwidth_seconds, "s", source)
    yield DerivationLine(
        "t_latency", "launch, hops, handshakes and filling the pipe", f"{cost.steps} dependent steps",
        cost.latency_seconds, "s", source,
    )  # fmt: skip
    yield DerivationLine("t", "the collective", "t_bandwidth + t_latency", cost.seconds, "s", source)
    yield DerivationLine("algbw", "buffer over time", "S / t", size_bytes / cost.seconds, "B/s", _NCCL_TESTS)


def kernel_lines(
    implementation: str, name: str, kernel: KernelConstants, num_ranks: int, cost: CollectiveCost,
    on_gpu: CollectiveCost, size_bytes: int, graph: bool, framework: FrameworkKernels, source: str,
) -> Iterator[DerivationLine]:  # fmt: skip
    """Yield what a framework's kernel does and what that takes."""
    selection = "hardware_catalog/calibrations/custom-all-reduce-selection.yaml"
    yield DerivationLine(
        "way", _STORY[kernel.algorithm], f"{implementation}'s choice for this size", f"{implementation}/{name}", "",
        selection,
    )  # fmt: skip
    yield DerivationLine(
        "W_way", "what each GPU gets, and sends, this way", _SENDS[kernel.algorithm], cost.bytes_on_wire_per_gpu, "B",
        "definition",
    )  # fmt: skip
    rate = cost.bytes_on_wire_per_gpu / cost.bandwidth_seconds
    yield DerivationLine(
        "B_way", "rate of peers' memory, one direction", f"{kernel.link_ratio:g} × B", rate, "B/s", source
    )
    yield DerivationLine("t_bandwidth", "bytes over that rate", "W_way / B_way", cost.bandwidth_seconds, "s", source)
    latency = kernel.launch_seconds + (num_ranks - 2) * kernel.peer_seconds
    barriers = f"{kernel.launch_seconds:.3g} s + (n − 2) × {kernel.peer_seconds:.3g} s"
    yield DerivationLine("a", "start and barriers", barriers, latency, "s", source)
    yield DerivationLine(
        "t_local", "the threads go through the rank's own buffer", f"S / {kernel.local_bytes_per_second:.3g} B/s",
        size_bytes / kernel.local_bytes_per_second, "s", source,
    )  # fmt: skip
    p = kernel.sharpness
    expression = "a + t_bandwidth + t_local" if p == 1 else f"(a^{p:g} + (t_bandwidth + t_local)^{p:g})^(1/{p:g})"
    yield DerivationLine("t_gpu", "the kernel, as a CUDA graph replays it", expression, on_gpu.seconds, "s", source)
    if graph:
        yield DerivationLine("t", "the collective", "t_gpu", cost.seconds, "s", source)
    else:
        copy = framework.copy_launch_seconds + size_bytes / framework.copy_bytes_per_second
        host = framework.host_seconds[name]
        yield DerivationLine("t_copy", "copy into the shared buffer", "launch + S / rate", copy, "s", source)
        yield DerivationLine("t_host", "the CPU's time for one call", "measured", host, "s", source)
        yield DerivationLine("t", "the collective", "max(t_host, t_gpu + t_copy)", cost.seconds, "s", source)
    yield DerivationLine("algbw", "buffer over time", "S / t", size_bytes / cost.seconds, "B/s", _NCCL_TESTS)


def busbw_line(busbw: float, link: float, algorithm: Algorithm) -> DerivationLine:
    """Return the bus bandwidth, and why it may exceed the link."""
    label = "bus bandwidth, comparable with B"
    if algorithm is Algorithm.NVLS and busbw > link:
        label = "bus bandwidth: above B because f is the ring's factor and the switch adds, so less is sent than f × S"
    return DerivationLine("busbw", label, "f × algbw", busbw, "B/s", _NCCL_TESTS)


def overlap_line(seconds: float, window_seconds: float | None) -> DerivationLine:
    """Return what a window of other work, such as the backward pass, would hide."""
    if window_seconds is None:
        return DerivationLine(
            "t_hidden", "what a window w of other work (the backward pass) would hide; give overlap_window_seconds",
            "min(w, t)", f"all of t from w = {seconds:.3g} s on", "", "definition",
        )  # fmt: skip
    return DerivationLine(
        "t_exposed", "left over after the window of other work", f"max(0, t − {window_seconds:.6g} s)",
        max(0.0, seconds - window_seconds), "s", "definition",
    )  # fmt: skip


_STORY = {
    Algorithm.RING: "ring: every rank passes shares to its neighbour",
    Algorithm.TREE: "tree: sums go up a chain of ranks and down again",
    Algorithm.NVLS: "NVLS: the NVSwitch adds; each GPU sends its vector once instead of f times",
    Algorithm.NVLS_TREE: "NVLSTree: NVSwitches add inside each domain, a tree of the domains adds over the NICs",
    Algorithm.DIRECT: "direct: every rank talks to every peer at once",
    Algorithm.ONE_SHOT: "one shot: every rank reads every peer's whole buffer and adds",
    Algorithm.TWO_SHOT: "two shots: every rank adds its share of all buffers, then reads the others' sums",
    Algorithm.MULTIMEM: "multimem: the NVSwitch adds a rank's share of all buffers and sends the sum to all",
    Algorithm.COLLNET: "CollNet: each domain sends its sum up once, and the network's switches add (SHARP)",
    Algorithm.PAT: "PAT: trees in a logarithm of the ring's steps, with the ring's bytes",
    Algorithm.SYMMETRIC: "symmetric memory: one kernel reads and writes the peers' registered buffers itself",
    Algorithm.COPY_ENGINE: "copy engines: DMA between registered buffers; no SM takes part",
}


_SENDS = {
    Algorithm.NVLS: "S × (1 + 1/n)",
    Algorithm.NVLS_TREE: "S × (1 + 1/g)",
    Algorithm.TREE: "2 × S",
    Algorithm.ONE_SHOT: "(n − 1) × S",
    Algorithm.TWO_SHOT: "2 × (n − 1) / n × S",
    Algorithm.MULTIMEM: "S × (1 + 1/n)",
    Algorithm.COLLNET: "S × 2 (g − 1) / g",
    Algorithm.SYMMETRIC: "by kernel: flags with every word to every peer (ll), or S once through the switch or link",
}


def _where(placement: Placement, system: System) -> str:
    scale_up = f"{system.scale_up.network}, {system.scale_up.topology}"
    if placement.num_domains == 1:
        return f"all in one scale-up domain of {system.scale_up.domain_gpus} ({scale_up})"
    return f"{placement.num_domains} scale-up domains × g = {placement.ranks_per_domain} ({scale_up})"


def _network(system: System) -> str:
    return system.scale_out.network if system.scale_out else "none"
