"""What contradicts itself though each value is of the right shape."""

import pytest

from service.catalog.documents import EntryKind
from service.catalog.entries import entry_problems
from tests.unit.catalog.documents_of import CARD


def pointers(kind, document):
    return [problem.pointer for problem in entry_problems(kind, document)]


def link(**figures):
    return {"kind": "nvlink", **{f"{key}_bytes_per_second": value for key, value in figures.items()}}


def test_both_ways_are_twice_one_way():
    """450 one way is 900 both ways; 450 printed as both is the classic slip."""
    one_way, both = "bandwidth_per_direction", "bandwidth_bidirectional"
    assert pointers(EntryKind.NETWORKS, link(**{one_way: 450e9, both: 900e9})) == []
    assert pointers(EntryKind.NETWORKS, link(**{one_way: 450e9, both: 450e9})) == [f"/{both}_bytes_per_second"]


def test_all_links_are_the_links_times_one():
    """18 x 25 = 450."""
    figures = {"bandwidth_per_direction": 450e9, "bandwidth_per_link_per_direction": 25e9}
    assert pointers(EntryKind.NETWORKS, {**link(**figures), "links": 18}) == []
    assert pointers(EntryKind.NETWORKS, {**link(**figures), "links": 12}) == [
        "/bandwidth_per_direction_bytes_per_second"
    ]


def test_a_peak_with_sparsity_stands_out():
    """fp8 dense is at least bf16 dense; 1979 for bf16 (sparse) above 1979 for fp8 (dense) passes, above it does not."""
    assert pointers(EntryKind.ACCELERATORS, {**CARD, "dense_peaks_flops_per_second": {"bf16": 2e15, "fp8": 1e15}}) == [
        "/dense_peaks_flops_per_second/fp8"
    ]
    assert pointers(EntryKind.ACCELERATORS, {**CARD, "dense_peaks_flops_per_second": {}}) == [
        "/dense_peaks_flops_per_second"
    ]


def test_usable_memory_is_near_its_label():
    assert pointers(EntryKind.ACCELERATORS, {**CARD, "memory_usable_bytes": 85_520_809_984}) == []
    assert pointers(EntryKind.ACCELERATORS, {**CARD, "memory_usable_bytes": 8_552_080_998}) == ["/memory_usable_bytes"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"gpus": 16, "nodes": 3}, "/gpus"),
        ({"scale_up": {"domain_gpus": 12}}, "/scale_up/domain_gpus"),
        ({"scale_out": {"network": "x", "max_gpus": 4}}, "/scale_out/max_gpus"),
        (
            {"scale_out": {"network": link(bandwidth_per_direction=1e9, bandwidth_bidirectional=1e9)}},
            "/scale_out/network/bandwidth_bidirectional_bytes_per_second",
        ),
        ({"accelerator": {**CARD, "dense_peaks_flops_per_second": {}}}, "/accelerator/dense_peaks_flops_per_second"),
    ],
)
def test_systems_that_do_not_add_up(changes, pointer):
    assert pointers(EntryKind.SYSTEMS, {"accelerator": "x", "gpus_per_node": 8, **changes}) == [pointer]


def test_sources_are_of_figures_that_are_there():
    stated = {**CARD, "figure_sources": {"/tdp_watts": {"evidence": "read"}}}
    assert pointers(EntryKind.ACCELERATORS, stated) == ["/figure_sources"]
    assert pointers(EntryKind.ACCELERATORS, {**stated, "tdp_watts": 700}) == []
    other = {"figure": "tdp_watts", "value": 600, "according_to": "somebody"}
    assert pointers(EntryKind.ACCELERATORS, {**CARD, "alternatives": [other]}) == ["/alternatives/0/figure"]
