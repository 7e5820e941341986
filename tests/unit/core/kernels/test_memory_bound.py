"""Kernels that move bytes, worked by hand: 1 TB/s at 0.8, 2 us in a graph, 5 us to launch, 7 us to scale."""

import pytest

from service.core.kernels.memory_bound import MemoryBoundConstants, memory_bound_seconds, quantise_seconds

CONSTANTS = MemoryBoundConstants(0.8, 2e-6, 5e-6, 7e-6)


def test_large_moves_at_the_rate():
    """80 MB at 0.8 TB/s = 100 us, and 2 us."""
    assert memory_bound_seconds(80e6, 1e12, CONSTANTS) == pytest.approx(102e-6)


def test_small_waits_for_the_launch_without_a_graph():
    """0.8 MB is 1 us + 2 us = 3 us; the host takes 5 us."""
    assert memory_bound_seconds(0.8e6, 1e12, CONSTANTS) == pytest.approx(5e-6)
    assert memory_bound_seconds(0.8e6, 1e12, CONSTANTS, cuda_graphs=True) == pytest.approx(3e-6)


def test_each_kernel_has_its_floor():
    """3 × 2 us + 100 us; 3 launches are 15 us and hide."""
    assert memory_bound_seconds(80e6, 1e12, CONSTANTS, num_kernels=3) == pytest.approx(106e-6)


def test_dynamic_scaling_reads_twice_and_writes_a_byte():
    """16 million elements × (2 × 2 + 1) B = 80 MB: 100 us, and 7 us."""
    assert quantise_seconds(16e6, 1e12, CONSTANTS) == pytest.approx(107e-6)
