"""All-reduce kernels of serving frameworks (TensorRT-LLM, vLLM, SGLang): ranks reach into each other's memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.collectives.algorithms import candidates, chosen
from service.core.collectives.cost import FREE, Algorithm, Collective, CollectiveCost
from service.core.collectives.path import CollectivePath
from service.core.numerics import Dtype

KERNELS = (Algorithm.ONE_SHOT, Algorithm.TWO_SHOT, Algorithm.MULTIMEM)
SUMMED = frozenset({Dtype.FP32, Dtype.FP16, Dtype.BF16})
"""What the kernels add: floating-point numbers of 2 and 4 bytes."""

_SYMMETRIC = "symmetric_"
_STEPS = {Algorithm.ONE_SHOT: 1, Algorithm.TWO_SHOT: 2, Algorithm.MULTIMEM: 2}


@dataclass(frozen=True, slots=True)
class KernelConstants:
    """One kernel of one framework on one generation of boards.

    Parameters
    ----------
    algorithm : Algorithm
        one_shot, two_shot or multimem.
    launch_seconds : float
        Start, barriers and the first touch of a peer, for two ranks. [s]
    peer_seconds : float
        What each further rank adds to the barriers. [s]
    link_ratio : float
        Share of the link's per-direction rate that loads and stores of peers' memory reach. [-]
    local_bytes_per_second : float
        Rate at which the threads go through a rank's own buffer: loop, sums and local memory. [B/s]
    sharpness : float
        p of the smooth maximum; 1: bytes move only after the barrier. [-]
    """

    algorithm: Algorithm
    launch_seconds: float
    peer_seconds: float
    link_ratio: float
    local_bytes_per_second: float
    sharpness: float


@dataclass(frozen=True, slots=True)
class KernelBand:
    """A range of sizes that a framework gives to one kernel.

    Parameters
    ----------
    kernel : str
        Name of the kernel among the framework's; ``nccl``: it hands over.
    up_to_bytes : float
        Largest size, included. [B]
    dtypes : frozenset[Dtype]
        Element types it is for.
    """

    kernel: str
    up_to_bytes: float
    dtypes: frozenset[Dtype] = SUMMED


@dataclass(frozen=True, slots=True)
class FrameworkKernels:
    """A framework's all-reduce on one generation of boards.

    Parameters
    ----------
    kernels : Mapping[str, KernelConstants]
        By the framework's own kernel.
    bands : Mapping[int, tuple[KernelBand, ...]]
        By number of ranks: which kernel for which sizes, rising; NCCL above the last.
    host_seconds : Mapping[str, float]
        What the CPU takes for one eager call, by kernel, NCCL's included. [s]
    copy_launch_seconds : float
        Starting the eager copy into the shared buffer. [s]
    copy_bytes_per_second : float
        Rate of that copy, read and write counted once. [B/s]
    """

    implementation: str
    kernels: Mapping[str, KernelConstants]
    bands: Mapping[int, tuple[KernelBand, ...]]
    host_seconds: Mapping[str, float]
    copy_launch_seconds: float
    copy_bytes_per_second: float


NCCL = "nccl"
"""The kernel to which every framework hands over."""


def bytes_on_wire(algorithm: Algorithm, num_ranks: int, size_bytes: float) -> float:
    r"""Return what each rank gets, and sends, one direction.

    .. math:: W_{one} = (n-1) S, \quad W_{two} = 2 \frac{n-1}{n} S, \quad W_{multimem} = S (1 + 1/n)

    Parameters
    ----------
    algorithm : Algorithm
        one_shot: every rank reads every peer's whole buffer. two_shot: a share of each, then the sums of the others'
        shares. multimem: the switch adds a share of all ranks, and sends the sum to all.
    num_ranks : int
        n > 1. [-]
    size_bytes : float
        S. [B]

    Source
    ------
    vllm-project/vllm csrc/custom_all_reduce.cuh, cross_device_reduce_1stage and _2stage; CUDA multimem.ld_reduce.
    """
    if algorithm is Algorithm.ONE_SHOT:
        return (num_ranks - 1) * size_bytes
    if algorithm is Algorithm.TWO_SHOT:
        return 2 * (num_ranks - 1) / num_ranks * size_bytes
    return size_bytes * (1 + 1 / num_ranks)


def kernel_cost(
    kernel: KernelConstants, num_ranks: int, size_bytes: float, link_bytes_per_second: float
) -> CollectiveCost:
    r"""Return what a kernel takes on the GPU, as replayed from a CUDA graph.

    .. math:: t = \left((a + (n-2) b)^p + \left(\frac{W}{\eta B} + \frac{S}{C}\right)^p\right)^{1/p}

    Parameters
    ----------
    kernel : KernelConstants
        a, b, eta, C, p.
    num_ranks : int
        n > 1. [-]
    size_bytes : float
        S. [B]
    link_bytes_per_second : float
        B, one GPU's links, one direction. [B/s]

    Source
    ------
    W: `bytes_on_wire`. Constants: hardware_catalog/calibrations/custom-all-reduce.yaml.
    """
    wire = bytes_on_wire(kernel.algorithm, num_ranks, size_bytes)
    bandwidth = wire / (kernel.link_ratio * link_bytes_per_second)
    latency = kernel.launch_seconds + (num_ranks - 2) * kernel.peer_seconds
    moving = bandwidth + size_bytes / kernel.local_bytes_per_second
    total = (latency**kernel.sharpness + moving**kernel.sharpness) ** (1 / kernel.sharpness)
    return CollectiveCost(total - bandwidth, bandwidth, wire, _STEPS[kernel.algorithm])


def eager_cost(framework: FrameworkKernels, kernel: str, size_bytes: float, cost: CollectiveCost) -> CollectiveCost:
    r"""Return what the same takes when Python launches it: the CPU is the slower one until the buffer is large.

    .. math:: t_{eager} = \max(t_{host}, t + c + S / C_{copy})

    Parameters
    ----------
    framework : FrameworkKernels
        t_host, c and C_copy: outside a graph the input is first copied into the shared buffer.
    kernel : str
        Which one is launched.
    size_bytes : float
        S. [B]
    cost : CollectiveCost
        t, on the GPU.

    Source
    ------
    vllm-project/vllm vllm/distributed/device_communicators/custom_all_reduce.py: all_reduce, registered or not.
    """
    on_gpu = cost.seconds + framework.copy_launch_seconds + size_bytes / framework.copy_bytes_per_second
    total = max(framework.host_seconds[kernel], on_gpu)
    return CollectiveCost(
        total - cost.bandwidth_seconds, cost.bandwidth_seconds, cost.bytes_on_wire_per_gpu, cost.steps
    )


def kernel_for(
    framework: FrameworkKernels, dtype: Dtype, num_ranks: int, size_bytes: float, *, switch_adds: bool
) -> str:
    """Return the kernel that the framework takes; ``nccl`` where it hands over.

    Parameters
    ----------
    framework : FrameworkKernels
        Its bands; a count of ranks that it has none for goes to NCCL.
    dtype : Dtype
        Of the elements.
    num_ranks : int
        n. [-]
    size_bytes : float
        S. [B]
    switch_adds : bool
        Whether the domain's switch can add, which multimem needs.

    Source
    ------
    hardware_catalog/calibrations/custom-all-reduce-selection.yaml, which names each framework's file.
    """
    for band in framework.bands.get(num_ranks, ()):
        if (
            size_bytes <= band.up_to_bytes
            and dtype in band.dtypes
            and (
                switch_adds or band.kernel == NCCL or framework.kernels[band.kernel].algorithm is not Algorithm.MULTIMEM
            )
        ):
            return band.kernel
    return NCCL


def why_not(
    framework: FrameworkKernels, kernel: str, dtype: Dtype, num_ranks: int, size_bytes: float, *, switch_adds: bool
) -> str | None:
    """Return why a kernel of the framework cannot run, None if it can, be it the framework's choice or not.

    Parameters
    ----------
    framework : FrameworkKernels
        Its bands say how large its shared buffers are: one for its own kernels, one for those of symmetric memory.
    kernel : str
        One that its bands for this count name.
    dtype : Dtype
        Of the elements.
    num_ranks : int
        n. [-]
    size_bytes : float
        S. [B]
    switch_adds : bool
        Whether the domain's switch can add.

    Source
    ------
    As `kernel_for`.
    """
    bands, symmetric = framework.bands[num_ranks], kernel.startswith(_SYMMETRIC)
    mine = [band for band in bands if band.kernel == kernel]
    shared = [
        band.up_to_bytes for band in bands if band.kernel != NCCL and band.kernel.startswith(_SYMMETRIC) == symmetric
    ]
    if not any(dtype in band.dtypes for band in mine):
        return f"{framework.implementation} has {kernel} for {', '.join(sorted(mine[0].dtypes))} only"
    if framework.kernels[kernel].algorithm is Algorithm.MULTIMEM and not switch_adds:
        return "this domain has no switch that can add"
    if size_bytes > max(shared):
        return f"larger than the {max(shared):.0f} B that {framework.implementation} shares for it"
    return None


def nccl_cost(dtype: Dtype, num_ranks: int, size_bytes: float, path: CollectivePath) -> CollectiveCost:
    """Return what NCCL's all-reduce takes, which a CUDA graph changes little: nccl-tests hides the CPU as well.

    Parameters
    ----------
    dtype : Dtype
        Decides what the switch can add.
    num_ranks : int
        n. [-]
    size_bytes : float
        S. [B]
    path : CollectivePath
        The domain.

    Source
    ------
    Rows of 1 MiB and more that frameworks hand to NCCL under graphs: validation/collectives_frameworks.csv.
    """
    if num_ranks == 1:
        return FREE
    return chosen(candidates(Collective.ALL_REDUCE, dtype, num_ranks, size_bytes, path)).cost or FREE


def framework_all_reduce(
    framework: FrameworkKernels | None,
    dtype: Dtype,
    num_ranks: int,
    size_bytes: float,
    path: CollectivePath,
    *,
    graph: bool = True,
) -> CollectiveCost:
    """Return what an all-reduce takes as a serving framework does it: its own kernel, or NCCL where it has none.

    Parameters
    ----------
    framework : FrameworkKernels or None
        From ``catalog.calibrations.custom_all_reduce.kernels(implementation, system)``; None: NCCL throughout.
    dtype : Dtype
        Of the elements; what the kernels do not add goes to NCCL.
    num_ranks : int
        n; 1 is free. [-]
    size_bytes : float
        S, one rank's vector: tokens × hidden size × bytes of an element. [B]
    path : CollectivePath
        From ``catalog.calibrations.collective_path(system, placement)``; over several domains it is NCCL's.
    graph : bool
        Replayed from a CUDA graph (decode), or launched by Python (prefill). [-]

    Source
    ------
    `kernel_cost`, `eager_cost`, `nccl_cost`.
    """
    if num_ranks == 1:
        return FREE
    if framework is None or path.num_domains > 1:
        return nccl_cost(dtype, num_ranks, size_bytes, path)
    name = kernel_for(framework, dtype, num_ranks, size_bytes, switch_adds=path.nvls is not None)
    cost = (
        nccl_cost(dtype, num_ranks, size_bytes, path)
        if name == NCCL
        else kernel_cost(framework.kernels[name], num_ranks, size_bytes, path.bandwidth_bytes_per_second)
    )
    return cost if graph else eager_cost(framework, name, size_bytes, cost)
