"""Fabrics: one set of constants each, the catalogue's networks named."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.catalog.fabric_calibrations import load_fabric_calibrations
from service.core.hardware import ScaleOut
from service.errors import CatalogDefect
from service.shipped import shipped_path


@cache
def fabrics():
    return load_fabric_calibrations(shipped_path("hardware_catalog") / "calibrations")


@pytest.mark.parametrize(
    ("network", "fabric"),
    [
        ("infiniband-ndr", "infiniband"),
        ("efa-p5", "efa"),
        ("efa-p4d", "efa-v1"),
        ("gcp-tcpx-a3-high", "gpudirect-tcpx"),
    ],
)
def test_a_network_has_its_fabric(network, fabric):
    assert fabrics().of(network).name == fabric
    assert network in fabrics().of(network).measured


def test_a_network_that_none_names_gets_the_last_and_is_not_measured():
    assert "semaphore" not in fabrics().of("semaphore").measured


def test_line_rate_is_the_systems_and_efficiency_the_fabrics():
    fabric = fabrics().fabric(ScaleOut("infiniband-ndr", 50e9, 1.0))
    assert fabric.line_bytes_per_second == 50e9
    assert 0.8 < fabric.efficiency_ratio < 1
    assert 5e-6 < fabric.hop_seconds < 20e-6
    assert fabrics().fabric(None) is None


def test_every_system_that_scales_out_has_a_fabric_of_its_own_kind():
    named = {network for fabric in fabrics().fabrics for network in fabric.networks}
    used = set()
    for entry in load_shipped_catalog().entries("systems"):
        network = (entry.document.get("scale_out") or {}).get("network")
        used |= {network} if isinstance(network, str) else set()
    assert used - named == set()


def test_a_folder_without_it_does_not_load(tmp_path):
    with pytest.raises(CatalogDefect):
        load_fabric_calibrations(tmp_path)
