"""Costs add up, and the rounded maximum is a maximum."""

import math

import pytest

from service.core.collectives.cost import FREE, CollectiveCost, smooth_maximum


def test_a_cost_is_its_two_parts():
    assert CollectiveCost(1e-6, 2e-6, 10.0, 3).seconds == pytest.approx(3e-6)
    assert FREE.seconds == 0.0


def test_sharpness_one_adds():
    assert smooth_maximum(3.0, 4.0, 1.0) == pytest.approx(7.0)


def test_sharpness_two_is_pythagoras():
    """√(3² + 4²) = 5."""
    assert smooth_maximum(3.0, 4.0, 2.0) == pytest.approx(5.0)


def test_very_sharp_is_the_larger():
    assert smooth_maximum(3.0, 4.0, 500.0) == pytest.approx(4.0)


def test_nothing_and_something():
    assert smooth_maximum(0.0, 0.0, 0.8) == 0.0
    assert smooth_maximum(0.0, 4.0, 0.8) == pytest.approx(4.0)
    assert math.isfinite(smooth_maximum(1e-300, 1e300, 0.5))
