"""Frameworks' all-reduce kernels, worked by hand on round constants."""

import pytest

from service.core.collectives.cost import Algorithm, CollectiveCost
from service.core.collectives.custom_all_reduce import (
    NCCL,
    FrameworkKernels,
    KernelBand,
    KernelConstants,
    bytes_on_wire,
    eager_cost,
    framework_all_reduce,
    kernel_cost,
    kernel_for,
    nccl_cost,
    why_not,
)
from service.core.numerics import Dtype
from tests.collective_paths import across, within

ONE = KernelConstants(Algorithm.ONE_SHOT, 4e-6, 0.1e-6, 0.5, 1000e9, 1.0)
TWO = KernelConstants(Algorithm.TWO_SHOT, 10e-6, 0.5e-6, 0.75, 500e9, 2.0)
MULTIMEM = KernelConstants(Algorithm.MULTIMEM, 9e-6, 0.0, 0.5, 1000e9, 1.0)
BF16 = frozenset({Dtype.BF16})
FRAMEWORK = FrameworkKernels(
    "f",
    {"one_shot": ONE, "two_shot": TWO, "symmetric_multimem": MULTIMEM},
    {
        8: (
            KernelBand("one_shot", 100e3),
            KernelBand(NCCL, 200e3),
            KernelBand("two_shot", 1e6),
            KernelBand("symmetric_multimem", 8e6, BF16),
        )
    },
    {"one_shot": 20e-6, "two_shot": 25e-6, "symmetric_multimem": 40e-6, NCCL: 20e-6},
    3e-6,
    1000e9,
)


def kernel(size_bytes, dtype=Dtype.BF16, n=8, *, switch_adds=True):
    return kernel_for(FRAMEWORK, dtype, n, size_bytes, switch_adds=switch_adds)


@pytest.mark.parametrize(
    ("algorithm", "wire"), [(Algorithm.ONE_SHOT, 7e6), (Algorithm.TWO_SHOT, 1.75e6), (Algorithm.MULTIMEM, 1.125e6)]
)
def test_bytes_on_the_wire_of_eight(algorithm, wire):
    """7 S; 2 × 7/8 S; 9/8 S."""
    assert bytes_on_wire(algorithm, 8, 1e6) == pytest.approx(wire)


def test_one_shot_adds_what_does_not_overlap():
    """1 MB, 8 GPUs, 400 GB/s: 4 + 6 × 0.1 us, 7 MB at 200 GB/s 35 us, 1 MB at 1 TB/s 1 us: 40.6 us."""
    cost = kernel_cost(ONE, 8, 1e6, 400e9)
    assert cost.seconds == pytest.approx(40.6e-6)
    assert cost.bandwidth_seconds == pytest.approx(35e-6)
    assert (cost.bytes_on_wire_per_gpu, cost.steps) == (7e6, 1)


def test_two_shots_are_rounded_where_latency_and_bytes_meet():
    """4 MB, 8 GPUs: a = 13 us; 7 MB at 300 GB/s 23.33 us and 4 MB at 500 GB/s 8 us; √(13² + 31.33²) = 33.92 us."""
    cost = kernel_cost(TWO, 8, 4e6, 400e9)
    assert cost.seconds == pytest.approx(33.92e-6, rel=1e-3)
    assert cost.steps == 2


def test_a_python_launch_is_the_hosts_until_the_gpu_takes_longer():
    """1 us on the GPU: 20 us of host. 30 us on the GPU with 2 MB: 30 + 3 + 2 = 35 us."""
    assert eager_cost(FRAMEWORK, "one_shot", 1e3, CollectiveCost(1e-6, 0.0, 1e3, 1)).seconds == 20e-6
    assert eager_cost(FRAMEWORK, "one_shot", 2e6, CollectiveCost(20e-6, 10e-6, 1e3, 1)).seconds == pytest.approx(35e-6)


@pytest.mark.parametrize(
    ("size_bytes", "name"),
    [(100e3, "one_shot"), (100e3 + 1, NCCL), (1e6, "two_shot"), (8e6, "symmetric_multimem"), (8e6 + 1, NCCL)],
)
def test_the_band_of_the_size_names_the_kernel(size_bytes, name):
    assert kernel(size_bytes) == name


def test_what_a_kernel_cannot_do_goes_to_nccl():
    assert kernel(8e6, Dtype.FP16) == NCCL
    assert kernel(8e6, switch_adds=False) == NCCL
    assert kernel(1e3, Dtype.INT8) == NCCL
    assert kernel(1e3, n=3) == NCCL


@pytest.mark.parametrize(
    ("name", "dtype", "size_bytes", "adds", "words"),
    [
        ("one_shot", Dtype.BF16, 1e6, True, None),  # not the choice there, but it fits the buffer
        ("one_shot", Dtype.BF16, 1e6 + 1, True, "larger than the 1000000 B"),
        ("symmetric_multimem", Dtype.BF16, 8e6, True, None),
        ("symmetric_multimem", Dtype.FP16, 1e6, True, "bf16 only"),
        ("symmetric_multimem", Dtype.BF16, 1e6, False, "no switch"),
    ],
)
def test_why_a_kernel_cannot_run(name, dtype, size_bytes, adds, words):
    found = why_not(FRAMEWORK, name, dtype, 8, size_bytes, switch_adds=adds)
    assert found is None if words is None else words in found


def test_the_whole_of_it():
    path = within(8)
    one = framework_all_reduce(FRAMEWORK, Dtype.BF16, 8, 50e3, path)
    assert one == kernel_cost(ONE, 8, 50e3, 400e9)
    assert framework_all_reduce(FRAMEWORK, Dtype.BF16, 8, 50e3, path, graph=False).seconds == 20e-6
    assert framework_all_reduce(FRAMEWORK, Dtype.BF16, 8, 1e9, path) == nccl_cost(Dtype.BF16, 8, 1e9, path)
    assert framework_all_reduce(None, Dtype.BF16, 8, 50e3, path) == nccl_cost(Dtype.BF16, 8, 50e3, path)
    assert framework_all_reduce(FRAMEWORK, Dtype.BF16, 16, 50e3, across(2)) == nccl_cost(
        Dtype.BF16, 16, 50e3, across(2)
    )
    assert framework_all_reduce(FRAMEWORK, Dtype.BF16, 1, 50e3, within(1)).seconds == 0.0
    assert nccl_cost(Dtype.BF16, 1, 50e3, within(1)).seconds == 0.0
