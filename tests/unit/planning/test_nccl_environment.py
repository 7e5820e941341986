"""What NCCL's variables would change, on ways of known times."""

from service.core.collectives.algorithms import Candidate
from service.core.collectives.cost import Algorithm, CollectiveCost, Protocol
from service.planning.nccl_environment import nccl_settings


def way(algorithm, protocol, seconds, believed):
    return Candidate(algorithm, protocol, CollectiveCost(0.0, seconds, 1.0, 1), believed)


RING_LL = way(Algorithm.RING, Protocol.LL, 4.0, 4.0)
RING_SIMPLE = way(Algorithm.RING, Protocol.SIMPLE, 3.0, 3.0)
NVLS = way(Algorithm.NVLS, Protocol.SIMPLE, 2.0, 1.0)
TREE = Candidate(Algorithm.TREE, Protocol.LL, None, None, "not for this collective")


def test_each_setting_that_changes_the_choice_is_timed():
    """NVLS is NCCL's choice; Ring or no NVLS give 3 s, LL 4 s; Simple and NVLS change nothing; Tree cannot be had."""
    found = {(s.variable, s.value): (s.seconds, s.ratio) for s in nccl_settings((RING_LL, RING_SIMPLE, NVLS, TREE))}
    assert found == {
        ("NCCL_ALGO", "Ring"): (3.0, 1.5),
        ("NCCL_PROTO", "LL"): (4.0, 2.0),
        ("NCCL_NVLS_ENABLE", "0"): (3.0, 1.5),
    }


def test_point_to_point_has_nothing_to_set():
    assert nccl_settings((way(Algorithm.DIRECT, Protocol.SIMPLE, 1.0, 0.0),)) == ()
