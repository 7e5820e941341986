"""`stepcast accuracy inference` prints and writes the same strata in three forms."""

import csv
import json

from click.testing import CliRunner

from service.cli import main
from tests.architecture.sources import ROOT


def test_three_forms_of_the_same_rows_and_the_page_is_current(tmp_path):
    files = {name: tmp_path / f"a.{name}" for name in ("markdown", "json", "csv")}
    done = CliRunner().invoke(main, ["accuracy", "inference", *(f"--{n}={path}" for n, path in files.items())])
    assert done.exit_code == 0
    text = files["markdown"].read_text(encoding="utf-8")
    assert text == done.output.removesuffix("\n")
    assert (ROOT / "docs" / "accuracy-inference.md").read_text(encoding="utf-8") == text, (
        "run stepcast accuracy inference"
    )
    document = json.loads(files["json"].read_text())
    with files["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(stratum["rows"] for stratum in document["figure, role"]) == len(rows)
