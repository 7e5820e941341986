"""docs/accuracy.md and the calibrations are what their commands write."""

import re

import pytest

from service.catalog.calibrations import load_calibrations
from validation import fit_collectives, score_collectives

NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")


def test_the_accuracy_page_is_current():
    assert score_collectives.PAGE.read_text(encoding="utf-8") == score_collectives.page()


def test_the_calibrations_are_what_the_fit_writes():
    """The words are the same and every figure within 3 %: another processor's rounding may turn a third digit."""
    for path, text in fit_collectives.fitted_files(load_calibrations(fit_collectives.FOLDER)):
        shipped = path.read_text(encoding="utf-8")
        assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text), f"{path.name}: run {fit_collectives.COMMAND}"
        figures = [list(map(float, NUMBER.findall(t))) for t in (shipped, text)]
        assert figures[0] == pytest.approx(figures[1], rel=0.03), f"{path.name}: run {fit_collectives.COMMAND}"
