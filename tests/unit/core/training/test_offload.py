"""Offloading by hand."""

import pytest

from service.core.training.offload import offload_seconds


def test_nothing():
    assert offload_seconds("none", 1e9, 1e9, 1, 1, 64e9, 8).step_seconds == 0


def test_optimizer():
    """4 bytes × 1e9 over 64 GB/s, and 8 GPUs' 1e9 parameters each at 4e9/s: 0.0625 + 2 s."""
    assert offload_seconds("optimizer", 2e9, 1e9, 1, 1, 64e9, 8).step_seconds == pytest.approx(2.0625)


def test_parameters_hide_behind_the_passes():
    """2 bytes × 32e9 / 64 GB/s = 1 s each way: 0.5 behind a forward of 0.5, all behind a backward of 2."""
    assert offload_seconds("parameters", 32e9, 1e9, 0.5, 2.0, 64e9, 8).micro_batch_seconds == pytest.approx(0.5)


def test_activations():
    found = offload_seconds("activations", 1e9, 1e9, 0.5, 0.5, 64e9, 8, activation_bytes=64e9)
    assert (found.micro_batch_seconds, found.moved_bytes) == (1.0, 128e9)
