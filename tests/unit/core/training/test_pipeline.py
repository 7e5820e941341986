"""Pipeline schedules by hand."""

import pytest

from service.core.training.pipeline import bubble_ratio, even_stages, in_flight_micro_batches, pipeline_seconds


@pytest.mark.parametrize(
    ("layers", "stages", "expected"),
    [
        (96, 8, (12,) * 8),
        (126, 16, (7, *(8,) * 14, 7)),  # Llama 3 405B: a layer less on the first and last stage
        (46, 4, (11, 12, 12, 11)),  # GLM-4.5-Air (V05)
        (92, 8, (11, 11, 12, 12, 12, 12, 11, 11)),
    ],
)
def test_stages(layers, stages, expected):
    assert even_stages(layers, stages) == expected


def test_bubble():
    """(64 - 1) / 512 of the 1T model; interleaving by 3 leaves a third: arXiv:2104.04473."""
    assert bubble_ratio(64, 512) == pytest.approx(0.123, abs=0.0005)
    assert bubble_ratio(35, 280, 3) == pytest.approx(34 / 840)


@pytest.mark.parametrize(
    ("stage", "p", "m", "v", "expected"), [(0, 8, 64, 1, 8), (7, 8, 64, 1, 1), (0, 8, 4, 1, 4), (0, 8, 64, 3, 31 / 3)]
)
def test_micro_batches_in_flight(stage, p, m, v, expected):
    """v = 3, p = 8: (2 × 7 + 2 × 8 + 1) / 3 = 10.33, against 8 (1 + 7/24) = 10.33 of the paper."""
    assert in_flight_micro_batches(stage, p, m, v) == pytest.approx(expected)


def test_the_slowest_stage_paces():
    """m t_max + the others once: 10 × 3 + (1 + 2) = 33; even stages: (m + p - 1) t."""
    assert pipeline_seconds([1, 3, 2], 10) == 33
    assert pipeline_seconds([2.0] * 4, 8) == 2 * (8 + 3)
    assert pipeline_seconds([2.0] * 4, 8, 2) == 2 * (8 + 3 / 2)
