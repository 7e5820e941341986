"""Point to point, by hand on round constants (sharpness 1: latency and bandwidth add)."""

import dataclasses

import pytest

from service.core.collectives.cost import Collective, Protocol
from service.core.collectives.direct import direct
from tests.collective_paths import across, within


def test_small_chunks_take_the_ll_path():
    """80 kB on 8: chunks of 10 kB. 8 us + 10e3 / 10e9 (1 us) = 9 us; 70e3 / 300e9 = 0.233 us; own chunk 0.01 us."""
    assert direct(Collective.ALL_TO_ALL, Protocol.SIMPLE, 8, 80e3, within(8)).seconds == pytest.approx(
        9.2433e-6, rel=1e-4
    )


def test_large_chunks_are_bound_by_the_link():
    """2.4 GB on 8: 8 us and a handshake of 4 us + 2.1e9 / 300e9 (7 ms) + 0.3e9 / 1e12 (0.3 ms) = 7.312 ms."""
    cost = direct(Collective.ALL_TO_ALL, Protocol.SIMPLE, 8, 2.4e9, within(8))
    assert cost.seconds == pytest.approx(7.312e-3)
    assert cost.bytes_on_wire_per_gpu == pytest.approx(2.1e9)


def test_send_recv_sends_all_of_it_to_one_peer():
    """3 GB: 8 us + 4 us + 10 ms; nothing is kept, so no local copy."""
    assert direct(Collective.SEND_RECV, Protocol.SIMPLE, 2, 3e9, within(2)).seconds == pytest.approx(10.012e-3)


def test_one_rank_is_free():
    assert direct(Collective.ALL_TO_ALL, Protocol.SIMPLE, 1, 1e9, within(1)).seconds == 0.0


def test_between_domains_one_share_of_the_nics_binds():
    """1.6 GB on 2 domains of 8: chunks of 100 MB, 8 leave by a NIC of 40 GB/s (20 ms), 7 stay (2.33 ms).

    12 us + a hop of 10 us + 20 ms + own chunk 0.1 ms = 20.122 ms.
    """
    cost = direct(Collective.ALL_TO_ALL, Protocol.SIMPLE, 16, 1.6e9, across(2))
    assert cost.seconds == pytest.approx(20.122e-3)
    assert cost.bytes_on_wire_per_gpu == pytest.approx(1.5e9)


def test_send_recv_to_another_domain():
    """4 GB at 40 GB/s: 100 ms and 22 us."""
    assert direct(Collective.SEND_RECV, Protocol.SIMPLE, 16, 4e9, across(2)).seconds == pytest.approx(100.022e-3)


def test_a_tapered_spine_binds_an_all_to_all_across_pods():
    """3.2 GB on 4 domains of 8, pods of 8 at 1:7: chunks of 100 MB, 24 at a seventh of 40 GB/s: 420 ms."""
    path = across(4)
    tapered = dataclasses.replace(path, fabric=dataclasses.replace(path.fabric, pod_ranks=8, taper_ratio=7.0))
    assert direct(Collective.ALL_TO_ALL, Protocol.SIMPLE, 32, 3.2e9, tapered).bandwidth_seconds == pytest.approx(0.42)
