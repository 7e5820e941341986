"""The table of published training figures."""

from collections import Counter

from service.catalog.training_measurements import training_points


def test_rows_and_roles():
    """785 rows of fifteen sources and 973 single-node ones; 30 rows and no more are for validation."""
    points = training_points()
    assert len(points) == 1758
    roles = Counter(p.role for p in points if p.source != "VTRAIN1")
    assert roles["validate"] == 30
    assert all(p.source_url.startswith("https://") for p in points)
    assert all(p.step_seconds or p.flops_per_second_per_gpu for p in points)


def test_what_is_left_out_says_why():
    left = Counter(p.left_out for p in training_points() if p.left_out)
    assert sum(left.values()) == 19
