"""`stepcast accuracy collectives` prints and writes the same strata in three forms."""

import csv
import json

from click.testing import CliRunner

from service.cli import main


def test_three_forms_of_the_same_rows(tmp_path):
    files = {name: tmp_path / f"a.{name}" for name in ("markdown", "json", "csv")}
    done = CliRunner().invoke(main, ["accuracy", "collectives", *(f"--{n}={path}" for n, path in files.items())])
    assert done.exit_code == 0
    assert files["markdown"].read_text() == done.output.removesuffix("\n")
    document = json.loads(files["json"].read_text())
    assert set(document) == {"single-node", "public", "networked", "frameworks", "experts"}
    with files["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_collective = {s["name"]: s["rows"] for s in document["single-node"]["collective"]}
    assert sum(by_collective.values()) == sum(row["table"] == "single-node" for row in rows)
    assert {row["in_range"] for row in rows} == {"true", "false"}
