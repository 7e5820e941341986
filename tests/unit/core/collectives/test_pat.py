"""PAT, by hand on round constants."""

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.pat import pat
from service.errors import UnsupportedCollective
from tests.collective_paths import across, within


@pytest.mark.parametrize("collective", [Collective.ALL_GATHER, Collective.REDUCE_SCATTER])
@pytest.mark.parametrize(("ranks", "hops"), [(16, 4), (9, 4), (8, 3)])
def test_a_logarithm_of_hops_and_the_rings_bytes(collective, ranks, hops):
    """S = n × 0.4 GB: (n-1) × 0.4 GB at 40 GB/s, 10 us, and ceil(log2 n) hops of 10 us."""
    cost = pat(collective, Protocol.SIMPLE, ranks, ranks * 0.4e9, across(ranks, 1))
    assert cost.seconds == pytest.approx((ranks - 1) * 0.01 + 10e-6 + hops * 10e-6)


def test_one_rank_is_free_and_one_domain_has_no_network():
    assert pat(Collective.ALL_GATHER, Protocol.SIMPLE, 1, 1e9, within(1)).seconds == 0.0
    with pytest.raises(UnsupportedCollective):
        pat(Collective.ALL_GATHER, Protocol.SIMPLE, 8, 1e9, within(8))
