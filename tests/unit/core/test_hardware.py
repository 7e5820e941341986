"""A switch gives a pair everything, a mesh only the pair's links."""

import pytest

from service.core.hardware import ScaleUp, Topology, usable_bandwidth


@pytest.mark.parametrize(("num_ranks", "expected"), [(1, 64e9), (2, 64e9), (5, 256e9), (8, 448e9)])
def test_a_mesh_pair_has_its_own_links_only(num_ranks, expected):
    """MI300X: 7 links of 64 GB/s; 2 of 8 GPUs share one, 5 use four, 8 all seven."""
    mesh = ScaleUp("infinity-fabric-mi300x", Topology.MESH, 448e9, 896e9, 64e9, 8)
    assert usable_bandwidth(mesh, num_ranks) == expected


def test_a_switch_gives_every_pair_the_full_rate():
    switch = ScaleUp("nvlink4", Topology.SWITCH, 450e9, 900e9, 450e9, 8, True)
    assert usable_bandwidth(switch, 2) == usable_bandwidth(switch, 8) == 450e9
