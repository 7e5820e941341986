"""docs/accuracy.md and the calibrations are what their commands write."""

import re
from functools import cache

import pytest

from service.catalog.calibrations import load_calibrations
from service.catalog.catalog import load_shipped_catalog
from service.catalog.measurements import public_single_domain
from service.cli.accuracy import every_row, page
from tests.architecture.sources import ROOT
from validation import (
    cross_validate,
    fit_collectives,
    fit_custom_all_reduce,
    fit_expert_exchange,
    fit_fabrics,
    fit_inference,
    one_b200,
    plots,
)

NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")


@cache
def rows():
    return every_row(load_shipped_catalog())


def test_the_accuracy_page_is_current():
    assert (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8") == page(rows()), "run make calibrate"


def test_the_calibrations_are_what_the_fit_writes():
    """The words are the same and every figure within 3 %: another processor's rounding may turn a third digit."""
    for path, text in fit_collectives.fitted_files(load_calibrations(fit_collectives.FOLDER)):
        shipped = path.read_text(encoding="utf-8")
        assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text), f"{path.name}: run {fit_collectives.COMMAND}"
        figures = [list(map(float, NUMBER.findall(t))) for t in (shipped, text)]
        assert figures[0] == pytest.approx(figures[1], rel=0.03), f"{path.name}: run {fit_collectives.COMMAND}"


def test_the_other_hosts_are_what_the_fit_writes():
    shipped = fit_collectives.OTHER_HOSTS.read_text(encoding="utf-8")
    text = fit_collectives.other_hosts_file(load_calibrations(fit_collectives.FOLDER), public_single_domain())
    assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text)
    assert list(map(float, NUMBER.findall(shipped))) == pytest.approx(list(map(float, NUMBER.findall(text))), rel=0.03)


def test_the_expert_exchange_is_what_the_fit_writes():
    shipped, text = fit_expert_exchange.OUT.read_text(encoding="utf-8"), fit_expert_exchange.fitted_file()
    assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text)
    assert list(map(float, NUMBER.findall(shipped))) == pytest.approx(
        list(map(float, NUMBER.findall(text))), rel=0.05, abs=0.002
    )


def test_one_b200_is_current():
    assert one_b200.PAGE.read_text(encoding="utf-8") == one_b200.page(load_shipped_catalog()), "run make calibrate"


def test_the_engines_residuals_are_those_of_their_constants():
    """The fit itself takes two minutes; that the shipped residuals belong to the shipped constants does not."""
    shipped = fit_inference.OUT.read_text(encoding="utf-8")
    scored = fit_inference.scored_figures(load_shipped_catalog())
    written = [line for line in shipped.splitlines() if line.startswith("  - {name")]
    found = list(fit_inference.residual_lines(scored))
    assert [NUMBER.sub("#", line) for line in written] == [NUMBER.sub("#", line) for line in found]
    for old, new in zip(written, found, strict=True):
        assert list(map(float, NUMBER.findall(old))) == pytest.approx(list(map(float, NUMBER.findall(new))), rel=0.02)


def test_the_fabrics_are_what_the_fit_writes():
    shipped, text = fit_fabrics.FILE.read_text(encoding="utf-8"), fit_fabrics.fitted_file()
    assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text)
    assert list(map(float, NUMBER.findall(shipped))) == pytest.approx(list(map(float, NUMBER.findall(text))), rel=0.05)


def test_the_frameworks_kernels_are_what_the_fit_writes():
    shipped, text = fit_custom_all_reduce.FILE.read_text(encoding="utf-8"), fit_custom_all_reduce.fitted_file()
    assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text)
    figures = [list(map(float, NUMBER.findall(t))) for t in (shipped, text)]
    assert figures[0] == pytest.approx(figures[1], rel=0.05, abs=0.002), f"run {fit_custom_all_reduce.COMMAND}"


def test_the_cross_validation_page_is_current():
    """The words are the same, and every figure within 3 %, or within a tenth of a point where it is small."""
    shipped, text = cross_validate.PAGE.read_text(encoding="utf-8"), cross_validate.page()
    assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text), f"run {cross_validate.COMMAND}"
    figures = [list(map(float, NUMBER.findall(t))) for t in (shipped, text)]
    assert figures[0] == pytest.approx(figures[1], rel=0.03, abs=0.11), f"run {cross_validate.COMMAND}"


@pytest.mark.parametrize(
    ("panels", "table", "file"),
    [
        (plots.INSIDE, "single-node", "collectives-one-domain.svg"),
        (plots.BETWEEN, "networked", "collectives-several-domains.svg"),
    ],
)
def test_every_panel_is_drawn_from_rows_and_the_page_shows_it(panels, table, file, tmp_path):
    assert all(len(panel.rows(rows(), table)) >= 10 for panel in panels)
    plots.draw(panels, rows(), table, 2, tmp_path / file)
    drawn, shipped = (path.read_text(encoding="utf-8") for path in (tmp_path / file, plots.FOLDER / file))
    for panel in panels:
        assert f"{panel.cluster}, {panel.gpus} GPUs" in drawn
        assert f"{panel.cluster}, {panel.gpus} GPUs" in shipped
    assert f"(plots/{file})" in page(rows())


def test_the_readme_quotes_the_page():
    """The README's figures are those of the rows of all nccl-tests rows and of all rows over several domains."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    inside, _, _, _, _, between, *_ = (
        [cell.strip().replace("%", " %") for cell in line.strip("|").split("|")]
        for line in page(rows()).splitlines()
        if line.startswith("| **all**")
    )
    assert f"{int(inside[1]):,} published nccl-tests rows" in readme
    assert f"a median error of {inside[2]}, and {'90 %'} of them within {inside[3]}" in readme
    assert f"{inside[-1]} off in the median" in readme
    assert f"{between[1]} public rows on six fabrics" in readme
    assert f"error of {between[2]}, {'90 %'} of them within {between[3]}" in readme


def test_the_readme_quotes_the_serving_page():
    """The rows to validate: throughput at the most, and TPOT at a number of clients."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    page_text = (ROOT / "docs" / "accuracy-inference.md").read_text(encoding="utf-8")
    for figure in ("output_tokens_per_second", "tpot_seconds"):
        line = next(each for each in page_text.splitlines() if each.startswith(f"| {figure}, validate "))
        mean = line.split("|")[3].strip().replace("%", " %")
        assert mean in readme
