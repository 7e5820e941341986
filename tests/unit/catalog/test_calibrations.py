"""Calibrations: read, matched by architecture and network, and their constants in SI."""

import math
from functools import cache

import pytest

from service.catalog.calibrations import load_calibrations
from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Algorithm, Protocol
from service.core.placement import place
from service.errors import CatalogDefect
from service.shipped import shipped_path


@cache
def catalog():
    return load_shipped_catalog()


def calibration_of(system):
    return catalog().calibrations.for_system(catalog().system(system))


def path_of(system, gpus):
    found = catalog().system(system)
    return catalog().calibrations.collective_path(found, place(found, gpus))


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("dgx-a100", "collectives-ampere-nvlink3"),
        ("dgx-h100", "collectives-hopper-nvlink4"),
        ("dgx-h200", "collectives-hopper-nvlink4"),
        ("dgx-b200", "collectives-blackwell-nvlink5"),
        ("dgx-b300", "collectives-blackwell-nvlink5"),
        ("gb200-nvl72", "collectives-blackwell-nvlink5"),
        ("dgx-2", "collectives-unmeasured"),
        ("azure-nd96isr-mi300x-v5", "collectives-unmeasured"),
    ],
)
def test_a_generation_has_its_file(system, expected):
    assert calibration_of(system).id == expected


def test_a_path_has_the_links_and_ncclss_constants():
    """H100: 450 GB/s one way; NCCL believes 0.824 of it, tries NVLS heads from 60 GB/s down, over 16 channels."""
    path = path_of("dgx-h100", 8)
    assert path.bandwidth_bytes_per_second == 450e9
    assert path.tuning.link_bytes_per_second == pytest.approx(370.8e9)
    assert path.tuning.hop_seconds[Algorithm.RING, Protocol.SIMPLE] == pytest.approx(3.4e-6)
    assert path.nvls.channels == 16
    assert path.nvls.head_speeds_bytes_per_second[0] == 60e9


def test_ampere_has_no_switch_that_adds():
    assert path_of("dgx-a100", 8).nvls is None


def test_a_mesh_path_grows_with_the_group():
    paths = [path_of("azure-nd96isr-mi300x-v5", n).bandwidth_bytes_per_second for n in (2, 8)]
    assert paths == [64e9, 448e9]


def test_bands_cover_every_size():
    for calibration in (*catalog().calibrations.collectives, catalog().calibrations.unmeasured):
        assert calibration.residuals[-1].up_to_bytes == math.inf
        assert all(0.3 < r.low_ratio < 1 < r.high_ratio for r in calibration.residuals)


def test_a_broken_file_names_itself(tmp_path):
    for path in (shipped_path("hardware_catalog") / "calibrations").glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    broken = tmp_path / "collectives-unmeasured.yaml"
    broken.write_text(broken.read_text().replace("launch: 6.6 us", "launch: 6.6 uss"))
    with pytest.raises(CatalogDefect) as defect:
        load_calibrations(tmp_path)
    assert defect.value.where == "collectives-unmeasured.yaml"


def test_a_folder_without_the_stand_in_does_not_start(tmp_path):
    with pytest.raises(CatalogDefect):
        load_calibrations(tmp_path)


def test_between_domains_there_is_a_fabric_and_what_nccl_believes_of_it():
    """Two DGX H100: NICs of 50 GB/s a GPU; LL is capped at 39 GB/s at two nodes, 20.4 from three on."""
    two, four = path_of("dgx-h100", 16), path_of("dgx-h100", 32)
    assert two.fabric.line_bytes_per_second == 50e9
    assert (two.num_domains, two.ranks_per_domain) == (2, 8)
    assert two.tuning.network.ll_bytes_per_second == 39e9
    assert four.tuning.network.ll_bytes_per_second == 20.4e9
    assert path_of("dgx-h100", 8).fabric is None
