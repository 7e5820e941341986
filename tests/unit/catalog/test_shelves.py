"""Reading the shipped files: all of them, quickly, and a revision of their bytes."""

import time

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.catalog.documents import EntryKind
from service.catalog.shelves import content_hash, read_shelves, shipped_folders
from service.errors import CatalogDefect


def test_every_file_is_an_entry(copied):
    shelves, defects = read_shelves(copied)
    assert defects == []
    files = [
        path
        for folder in ("accelerators", "networks", "systems")
        for path in (copied["hardware_catalog"] / folder).iterdir()
    ] + list(copied["model_catalog"].glob("*.yaml"))
    assert sum(len(shelf) for shelf in shelves.values()) == len(files)


def test_loading_takes_no_second_and_a_half():
    start = time.perf_counter()
    load_shipped_catalog()
    assert time.perf_counter() - start < 1.5


@pytest.mark.parametrize(
    "changed",
    [
        "hardware_catalog/systems/dgx-h100.yaml",
        "model_catalog/gpt2.yaml",
        "hardware_catalog/calibrations/nccl-tuning.yaml",
    ],
)
def test_the_revision_is_of_every_byte(copied, changed):
    assert content_hash(copied) == content_hash(shipped_folders())
    name, _, rest = changed.partition("/")
    path = copied[name] / rest
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert content_hash(copied) != content_hash(shipped_folders())


def test_one_bad_file_stops_the_process(copied, monkeypatch):
    (copied["model_catalog"] / "bad.yaml").write_text("id: bad\nnum_layers: 2\n")
    monkeypatch.setattr("service.catalog.catalog.shipped_folders", lambda: copied)
    with pytest.raises(CatalogDefect, match=r"model_catalog/bad\.yaml"):
        load_shipped_catalog()
    shelves, defects = read_shelves(copied)
    assert len(shelves[EntryKind.MODELS]) == 122
    assert {defect.where for defect in defects} == {"model_catalog/bad.yaml"}
