"""Documents to the core's types: figures stated nearer win, and each topology has its pair rate."""

import pytest

from service.catalog.hardware import (
    NotAskable,
    References,
    accelerator_from_document,
    fat_tree_gpus,
    system_from_document,
)
from service.core.hardware import Topology
from tests.unit.catalog.documents_of import CARD

RATE = "bandwidth_per_direction_bytes_per_second"
NETWORKS = {
    "links": {"id": "links", RATE: 70e9, "links": 7, "bandwidth_per_link_per_direction_bytes_per_second": 10e9},
    "slot": {"id": "slot", RATE: 63e9},
    "adds": {"id": "adds", "in_switch_reduction": True},
    "fabric": {"id": "fabric", RATE: 50e9, "ports_per_switch": 4},
    "cloud": {"id": "cloud", "bandwidth_per_gpu_per_direction_bytes_per_second": 25e9},
    "silent": {"id": "silent"},
}
LINKED = {
    **CARD,
    "id": "card",
    "scale_up": {"network": "links", "switch": "adds", "topology": "switch"},
    "host_link": {"network": "slot"},
}
REFERENCES = References(
    lambda given, _: given if isinstance(given, dict) else LINKED,
    lambda given, _: given if isinstance(given, dict) else NETWORKS[given],
)


def system(**document):
    return system_from_document({"accelerator": "card", "gpus_per_node": 8, **document}, REFERENCES, "/system")


def test_an_accelerator_has_what_the_driver_shows():
    network = REFERENCES.network
    assert accelerator_from_document(LINKED, network).memory_bytes == 80e9
    seen = accelerator_from_document({**LINKED, "memory_usable_bytes": 85_520_809_984}, network)
    assert seen.memory_bytes == 85_520_809_984
    assert seen.host_link_bytes_per_second == 63e9
    assert seen.sm_count is None


def test_the_accelerators_own_wiring_is_the_default():
    up = system().scale_up
    assert (up.network, up.topology, up.domain_gpus, up.in_switch_reduction) == ("links", Topology.SWITCH, 8, True)
    assert up.bandwidth_bytes_per_second == up.pair_bandwidth_bytes_per_second == 70e9
    assert up.bidirectional_bytes_per_second == 140e9


@pytest.mark.parametrize(
    ("topology", "domain", "pair"),
    [
        ("switch", 8, 70e9),  # all of it through the switch
        ("mesh", 8, 10e9),  # 70 / 7 peers
        ("bridge", 2, 70e9),  # every link to the one peer
        ("bridge", 4, 70e9 / 3),
        ("torus", 8, 10e9),  # one link to a neighbour
        ("cube_mesh", 8, 10e9),
    ],
)
def test_what_a_pair_can_use(topology, domain, pair):
    up = system(scale_up={"topology": topology, "domain_gpus": domain}).scale_up
    assert up.pair_bandwidth_bytes_per_second == pytest.approx(pair)
    assert up.in_switch_reduction == (topology == "switch")


def test_without_links_peers_talk_over_the_host():
    up = system(scale_up={"topology": "pcie"}).scale_up
    assert (up.network, up.bandwidth_bytes_per_second, up.domain_gpus) == ("slot", 63e9, 8)
    assert not up.in_switch_reduction


def test_a_bridge_joins_two_unless_told_otherwise():
    assert system(scale_up={"topology": "bridge"}).max_gpus == 2


def test_a_stated_figure_beats_the_accelerators():
    up = system(scale_up={RATE: 35e9, "in_switch_reduction": False}).scale_up
    assert up.bandwidth_bytes_per_second == 35e9
    assert not up.in_switch_reduction


def test_the_network_between_nodes():
    assert system().scale_out is None
    assert system().max_gpus == 8
    out = system(scale_out={"network": "fabric", "nics_per_gpu": 2})
    assert out.scale_out.bandwidth_bytes_per_second == 100e9  # two cards of 50
    assert out.max_gpus == 8  # 4^3 / 4 = 16 end points, two a GPU
    assert system(scale_out={"network": "cloud"}).scale_out.bandwidth_bytes_per_second == 25e9
    assert system(scale_out={"network": "fabric", "max_gpus": 24}).max_gpus == 24


def test_a_fat_tree_of_three_tiers():
    """k^3/4: 16,000 for 40 ports, 65,536 for 64."""
    assert fat_tree_gpus(40, 1) == 16_000
    assert fat_tree_gpus(64, 1) == 65_536
    assert fat_tree_gpus(64, 4) == 16_384


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"gpus_per_node": 8}, "/accelerator"),
        ({"accelerator": "card"}, "/gpus_per_node"),
        ({"accelerator": CARD, "gpus_per_node": 8}, "/scale_up/network"),
        ({"accelerator": "card", "gpus_per_node": 8, "scale_up": {"network": "silent"}}, f"/scale_up/{RATE}"),
        ({"accelerator": {**CARD, "scale_up": {"network": "links"}}, "gpus_per_node": 8}, "/scale_up/topology"),
        (
            {"accelerator": "card", "gpus_per_node": 8, "scale_out": {"network": "silent"}},
            "/scale_out/bandwidth_per_gpu_bytes_per_second",
        ),
    ],
)
def test_what_cannot_be_asked_about(document, pointer):
    with pytest.raises(NotAskable) as why:
        system_from_document(document, REFERENCES)
    assert why.value.problem.pointer == pointer
