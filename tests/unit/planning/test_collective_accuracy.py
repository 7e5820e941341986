"""Scoring, on rows of known errors."""

import pytest

from service.planning.collective_accuracy import ScoredRow, strata, stratum


def row(error, collective="all_reduce", low=0.5, high=1.5, measured=1.0):
    return ScoredRow(
        "public", "c", "dgx-h100", collective, "fp16", 8, 1024, "to 256 KiB", "held out",
        measured, measured * (1 + error), low, high, error, -0.9, "https://example.org",
    )  # fmt: skip


def test_a_stratum_is_its_rows_absolute_errors():
    """Errors 0.1, 0.2, 0.3, 0.4 and one of 2: median 0.3, worst 2; the ninth decile of five is the last."""
    found = stratum("x", [row(e) for e in (-0.1, 0.2, -0.3, 0.4, 2.0)])
    assert (found.rows, found.median_error_ratio, found.worst_error_ratio) == (5, 0.3, 2.0)
    assert found.p90_error_ratio == 2.0
    assert found.naive_median_error_ratio == 0.9
    assert found.median_range_width_ratio == 3.0


def test_rows_outside_their_range_are_counted():
    found = stratum("x", [row(0.0), row(0.0, low=1.1)])
    assert found.in_range_ratio == 0.5


def test_groups_are_named_and_sorted():
    found = strata([row(0.1, "b"), row(0.3, "a"), row(0.5, "b")], lambda r: r.collective)
    assert [(s.name, s.rows) for s in found] == [("a", 1), ("b", 2)]
    assert found[1].median_error_ratio == pytest.approx(0.3)
