"""Expert exchanges held against every published row: the targets."""

import statistics
from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.planning.expert_accuracy import scored_exchanges


@cache
def rows():
    return list(scored_exchanges(load_shipped_catalog()))


@pytest.mark.parametrize(("role", "at_most"), [("fitted", 0.08), ("held out", 0.10)])
def test_median_error(role, at_most):
    errors = [abs(row.error_ratio) for row in rows() if row.role == role]
    assert len(errors) > 5000
    assert statistics.median(errors) <= at_most


def test_the_range_holds_what_it_says():
    assert 0.87 <= sum(row.in_range for row in rows()) / len(rows()) <= 0.93
