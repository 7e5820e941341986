"""Expert dispatch and combine, by hand on round constants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.collectives.expert_exchange import (
    ExchangeConstants,
    ExpertTraffic,
    exchange,
    expert_traffic,
    ranks_reached,
)

ADDS = ExchangeConstants(20e-6, 10e9, 0.5, 0.6, 1.0, 0.9, 10e-6, per_expert=True)


def test_one_expert_is_on_one_rank():
    assert ranks_reached(64, 1, 8) == pytest.approx(1.0)


def test_two_experts_of_eight_on_four_ranks():
    """The second is on the first's rank with chance 1/7: 2 - 1/7 ranks."""
    assert ranks_reached(8, 2, 4) == pytest.approx(2 - 1 / 7)


def test_all_experts_are_on_all_ranks():
    assert ranks_reached(16, 16, 4) == pytest.approx(4.0)


def test_a_copy_an_expert():
    """k = 8 over 16 ranks of two domains: 8 × 15/16 copies leave, 8/15 of them to the other domain."""
    traffic = expert_traffic(100, 7168.0, 256, 8, 16, 8, per_expert=True)
    assert traffic.copies == pytest.approx(7.5)
    assert traffic.far_copies == pytest.approx(4.0)
    assert traffic.near_bytes == pytest.approx(100 * 7168 * 3.5)
    assert traffic.far_bytes == pytest.approx(100 * 7168 * 4.0)


def test_launch_and_bytes_add():
    """27 GB at 0.6 × 450 GB/s: 0.1 s, and 20 us."""
    cost = exchange(ExpertTraffic(1.0, 0.0, 27e9, 1), ADDS, 450e9, 0.0)
    assert cost.seconds == pytest.approx(0.1 + 20e-6)
    assert cost.bytes_on_wire_per_gpu == pytest.approx(27e9)


@pytest.mark.parametrize(("sms", "seconds"), [(9, 0.45), (27, 0.15), (100, 0.1)])
def test_few_sms_are_slower_than_the_link(sms, seconds):
    """27 GB, and half as much handled beside, by SMs of 10 GB/s each; never faster than the links' 270 GB/s."""
    cost = exchange(ExpertTraffic(1.0, 0.0, 27e9, 1), ADDS, 450e9, 0.0, sms=sms)
    assert cost.bandwidth_seconds == pytest.approx(seconds)


def test_the_nic_binds_between_domains():
    """4.5 GB through a NIC at 0.9 × 50 GB/s is 0.1 s, longer than 2 GB inside; 20 us and a hop of 10."""
    cost = exchange(ExpertTraffic(2.0, 1.0, 4.5e9, 1), ADDS, 450e9, 50e9)
    assert cost.seconds == pytest.approx(0.1 + 30e-6)


def test_a_group_of_one_sends_nothing():
    assert exchange(expert_traffic(100, 1.0, 8, 2, 1, 1, per_expert=True), ADDS, 450e9, 0.0).seconds == 0.0


groups = st.sampled_from([2, 4, 8, 16, 32, 64])


@given(st.integers(1, 100_000), st.integers(1, 16), groups, st.booleans(), st.integers(0, 132))
def test_never_faster_than_the_links_and_never_less_for_more(tokens, top_k, ranks, per_expert, sms):
    def seconds(t, k):
        traffic = expert_traffic(t, 7168.0, 256, k, ranks, min(ranks, 8), per_expert=per_expert)
        cost = exchange(traffic, ADDS, 450e9, 50e9, sms)
        assert traffic.near_bytes / cost.seconds <= 450e9
        assert traffic.far_bytes / cost.seconds <= 50e9
        return cost.seconds

    assert seconds(tokens, top_k) <= seconds(tokens + 1, top_k) * (1 + 1e-12)
    assert seconds(tokens, top_k) <= seconds(tokens, top_k + 1) * (1 + 1e-12)


@given(st.integers(1, 16), groups)
def test_a_token_reaches_no_more_ranks_than_experts_or_ranks(top_k, ranks):
    reached = ranks_reached(256, top_k, ranks)
    assert 1.0 - 1e-9 <= reached <= min(top_k, ranks) + 1e-9
