"""MFU against published examples."""

import pytest

from service.core.training.utilization import steps_of, utilization_ratio


def test_mfu_of_nanogpt():
    """T01: 874.9 GFLOP × 100 sequences in 0.755 s on one A100 of 312 TFLOP/s: 37.1 %."""
    assert utilization_ratio(874.9e9 * 100, 0.755, 1, 312e12) == pytest.approx(0.371, rel=0.01)


def test_t16_a_log_line():
    """T16: 52B, 64 GPUs, 1024 × 2048 tokens, 127 s: 8 N D is 107.3 TFLOP/s a GPU (HFU 34.4 %), 6 N D 80.5 (25.8 %)."""
    tokens = 1024 * 2048
    assert utilization_ratio(8 * 52e9 * tokens, 127, 64, 312e12) == pytest.approx(0.344, rel=0.02)
    assert utilization_ratio(6 * 52e9 * tokens, 127, 64, 312e12) == pytest.approx(0.258, rel=0.02)


def test_steps():
    assert steps_of(1e12, 1024, 4096) == pytest.approx(238_418.6, rel=1e-6)
