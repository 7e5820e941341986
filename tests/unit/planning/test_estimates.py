"""The shape that every answer has."""

from service.planning.estimates import EstimateRange


def test_what_is_known_moves_both_ends():
    width = EstimateRange(1.0, 3.0, 0.9, "measured", "rows")
    assert width.shifted(0.5) == EstimateRange(1.5, 3.5, 0.9, "measured", "rows")
