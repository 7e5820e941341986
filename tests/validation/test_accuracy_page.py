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


def test_the_readme_quotes_the_page():
    """The README's figures are those of the row of all nccl-tests rows."""
    readme = " ".join((score_collectives.PAGE.parents[1] / "README.md").read_text(encoding="utf-8").split())
    row = next(line for line in score_collectives.page().splitlines() if line.startswith("| **all**"))
    rows, median, p90, _, _, naive = (cell.strip() for cell in row.strip("|").split("|")[1:])
    assert f"{int(rows):,} published nccl-tests rows" in readme
    assert f"a median error of {median.replace('%', ' %')}" in readme
    assert f"90 % of them within {p90.replace('%', ' %')}" in readme
    assert f"{naive.replace('%', ' %')} off in the median" in readme
    row = next(line for line in score_collectives.page().splitlines() if line.startswith("| **all several"))
    rows, median, p90 = (cell.strip() for cell in row.strip("|").split("|")[2:])
    assert f"{rows} public rows on six fabrics are met with a median error of {median.replace('%', ' %')}" in readme
    assert f"{p90.replace('%', ' %').replace('90  %', '90 % of them')}" in readme
