"""Sums in the network, by hand on round constants, and the one public run of it."""

import dataclasses

import pytest

from service.core.collectives.collnet import collnet
from service.core.collectives.cost import Collective, Protocol
from service.errors import UnsupportedCollective
from tests.collective_paths import across, within


def test_the_domain_binds_where_its_links_are_slower():
    """2.4 GB on 4 × 8: 4.2 GB at 300 GB/s is 14 ms; 0.3 GB through a NIC at 40 GB/s 7.5 ms.

    Latency: 10 us, two handshakes of 5 us and two hops of 10 us: 40 us.
    """
    assert collnet(Collective.ALL_REDUCE, Protocol.SIMPLE, 32, 2.4e9, across(4)).seconds == pytest.approx(14.04e-3)


def test_the_nic_binds_where_it_is_slower_and_the_number_of_domains_does_not_matter():
    """At 20 GB/s × 0.8: 0.3 GB take 18.75 ms."""
    for domains in (4, 16):
        path = across(domains)
        slow = dataclasses.replace(path, fabric=dataclasses.replace(path.fabric, line_bytes_per_second=20e9))
        cost = collnet(Collective.ALL_REDUCE, Protocol.SIMPLE, 8 * domains, 2.4e9, slow)
        assert cost.bandwidth_seconds == pytest.approx(18.75e-3)


def test_one_rank_is_free_and_one_domain_has_no_network():
    assert collnet(Collective.ALL_REDUCE, Protocol.SIMPLE, 1, 1e9, within(1)).seconds == 0.0
    with pytest.raises(UnsupportedCollective):
        collnet(Collective.ALL_REDUCE, Protocol.SIMPLE, 8, 1e9, within(8))
