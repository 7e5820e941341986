"""Where ranks sit: nodes and domains are filled first; what does not divide is refused with the nearest that does."""

import pytest

from service.core.hardware import Accelerator, ScaleUp, System, Topology
from service.core.placement import place
from service.errors import UnsupportedRankCount


def system(gpus_per_node=8, domain_gpus=8, max_gpus=64):
    accelerator = Accelerator("x", "x", "v", "hopper", {}, 80e9, 3e12)
    scale_up = ScaleUp("nvlink4", Topology.SWITCH, 450e9, 900e9, 450e9, domain_gpus, True)
    return System("box", "box", accelerator, gpus_per_node, scale_up, None, max_gpus)


def test_one_node_holds_a_small_group():
    placement = place(system(), 4)
    assert (placement.ranks_per_node, placement.num_nodes, placement.num_domains) == (4, 1, 1)


def test_several_nodes_are_several_domains():
    """16 GPUs on boxes of 8: two nodes, two domains."""
    placement = place(system(), 16)
    assert (placement.ranks_per_node, placement.num_nodes, placement.num_domains) == (8, 2, 2)


def test_a_rack_is_one_domain_of_many_trays():
    """72 GPUs in trays of 4: 18 nodes, one domain; 144 are two domains."""
    rack = system(gpus_per_node=4, domain_gpus=72, max_gpus=576)
    assert place(rack, 72).num_domains == 1
    assert place(rack, 72).num_nodes == 18
    assert place(rack, 144).num_domains == 2


def test_two_a_tray_leave_room_in_the_domain():
    """2 of each tray's 4 GPUs: a domain of 18 trays holds 36 of them."""
    placement = place(system(gpus_per_node=4, domain_gpus=72, max_gpus=576), 36, 2)
    assert placement.ranks_per_domain == 36
    assert placement.num_domains == 1


def refused(*args):
    with pytest.raises(UnsupportedRankCount) as refusal:
        place(*args)
    (problem,) = refusal.value.problems
    return problem


def test_more_than_there_are():
    problem = refused(system(), 65)
    assert (problem.pointer, problem.value, problem.suggestion) == ("/gpus", 65, 64)
    assert problem.allowed == {"min": 1, "max": 64}


def test_more_a_node_than_it_has():
    problem = refused(system(), 16, 16)
    assert (problem.pointer, problem.suggestion) == ("/gpus_per_node", 8)


def test_gpus_per_node_that_does_not_divide_names_those_that_do():
    """8 in nodes of 3: 1, 2, 4 and 8 divide; 2 and 4 are as near."""
    problem = refused(system(), 8, 3)
    assert problem.pointer == "/gpus_per_node"
    assert problem.allowed == [1, 2, 4, 8]
    assert problem.suggestion in (2, 4)


def test_gpus_that_do_not_fill_nodes():
    """12 on boxes of 8: 8 is the nearest below."""
    problem = refused(system(), 12)
    assert (problem.pointer, problem.suggestion) == ("/gpus", 8)


def test_a_domain_need_not_fill_its_last_node():
    """Six of a rack's GPUs: four of one tray and two of the next, all on one NVLink."""
    placement = place(system(gpus_per_node=4, domain_gpus=72, max_gpus=576), 6)
    assert (placement.num_nodes, placement.num_domains) == (2, 1)


def test_a_bridge_joins_part_of_a_node():
    """Four of a box of eight whose bridges join two: two domains of two."""
    placement = place(system(gpus_per_node=8, domain_gpus=2), 4)
    assert (placement.num_nodes, placement.ranks_per_domain, placement.num_domains) == (1, 2, 2)
