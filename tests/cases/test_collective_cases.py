"""Questions with a known right answer. Each test carries the id of its case and says how it was put to the planner."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.bandwidth import algbw, busbw, total_size_bytes
from service.core.collectives.cost import Algorithm, Collective
from service.core.numerics import Dtype
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion


@cache
def catalog():
    return load_shipped_catalog()


def ask(system, collective, gpus, **fields):
    return estimate_collective(CollectiveQuestion(system, Collective(collective), gpus, **fields), catalog())


def test_c01_all_reduce_of_a_70b_models_gradients_on_eight_hopper_gpus():
    """`all_reduce` of llama3-70b in bf16 on dgx-h100, 8 GPUs.

    Ideal ring 1.75 × 141.1 GB / 450 GB/s = 0.548 s (1 %); with in-switch reduction 0.514 s at 480 GB/s busbw (6 %);
    the ring alone 0.672 s at 367.2 GB/s (6 %). NVIDIA/nccl-tests#212, stas00/ml-engineering.
    """
    answer = ask("dgx-h100", "all_reduce", 8, model="llama3-70b", dtype=Dtype.BF16)
    assert answer.ideal.seconds == pytest.approx(0.548, rel=0.01)
    assert answer.ideal.headline_seconds == pytest.approx(0.274, rel=0.01)
    assert answer.result.algorithm is Algorithm.NVLS
    assert answer.result.seconds == pytest.approx(0.514, rel=0.06)
    assert answer.range.low <= 0.514 <= answer.range.high
    ring = ask("dgx-h100", "all_reduce", 8, model="llama3-70b", dtype=Dtype.BF16, algorithm=Algorithm.RING)
    assert ring.result.seconds == pytest.approx(0.672, rel=0.06)
    headline = next(line for line in answer.derivation if line.symbol == "B_headline")
    assert "both directions" in headline.label
    unreachable = next(line for line in answer.derivation if line.symbol == "t_headline")
    assert "not reachable" in unreachable.label


@pytest.mark.parametrize(("gpus", "busbw_gbs"), [(4, 363.3), (5, 414.2), (6, 435.6), (7, 460.0), (8, 473.1)])
def test_c03_ramp_from_four_to_eight_gpus(gpus, busbw_gbs):
    """8 GiB `all_reduce` on dgx-h200 with 4 to 8 GPUs, 8 % each: 4 get the ring, more get the switch."""
    answer = ask("dgx-h200", "all_reduce", gpus, size_bytes=8589934592)
    assert answer.result.busbw_bytes_per_second / 1e9 == pytest.approx(busbw_gbs, rel=0.08)
    assert answer.result.algorithm is (Algorithm.RING if gpus == 4 else Algorithm.NVLS)


def test_c03_eight_gpus_finish_sooner_than_four():
    """31.8 ms against 35.5 ms, 8 % each, where a constant bus bandwidth says the reverse."""
    four = ask("dgx-h200", "all_reduce", 4, size_bytes=8589934592).result.seconds
    eight = ask("dgx-h200", "all_reduce", 8, size_bytes=8589934592).result.seconds
    assert four == pytest.approx(35.5e-3, rel=0.08)
    assert eight == pytest.approx(31.8e-3, rel=0.08)
    assert eight < four


@pytest.mark.parametrize(
    ("size_bytes", "microseconds", "tolerance"),
    [(32768, 43.8, 0.5), (1048576, 101.9, 0.7), (1073741824, 8203.9, 0.12), (17179869184, 127997, 0.1)],
)
def test_c07_a100_sweep(size_bytes, microseconds, tolerance):
    """`all_reduce` on dgx-a100, 8 GPUs; the small ones are of an older NCCL, hence their tolerance."""
    seconds = ask("dgx-a100", "all_reduce", 8, size_bytes=size_bytes).result.seconds
    assert seconds * 1e6 == pytest.approx(microseconds, rel=tolerance)


def test_c10_all_gather_of_512_mib_on_eight_h100():
    """The gathered size is 512 MiB: ideal 0.875 × 536870912 / 450e9 = 1.04 ms (1 %), measured 1.5 ms (20 %)."""
    answer = ask("dgx-h100", "all_gather", 8, size_bytes=536870912)
    assert answer.ideal.seconds == pytest.approx(1.04e-3, rel=0.01)
    assert answer.result.seconds == pytest.approx(1.5e-3, rel=0.2)


def test_u01_480_gbs_is_healthy():
    """480 GB/s busbw on a p5 is 107 % of one direction (450) and 53 % of the headline (900), which sums both."""
    answer = ask("aws-p5.48xlarge", "all_reduce", 8, size_bytes=17179869184)
    assert answer.ideal.bandwidth_bytes_per_second == 450e9
    assert answer.ideal.headline_bandwidth_bytes_per_second == 900e9
    assert 480e9 / answer.ideal.bandwidth_bytes_per_second == pytest.approx(1.07, rel=0.01)
    assert answer.result.busbw_bytes_per_second == pytest.approx(480e9, rel=0.06)
    assert answer.result.busbw_bytes_per_second > answer.ideal.bandwidth_bytes_per_second
    assert "switch adds" in next(line for line in answer.derivation if line.symbol == "busbw").label


def test_u02_250_gbs_algbw_is_437_gbs_busbw():
    """256 MiB on 8 H100 at 250 GB/s algbw: × 1.75 = 437.5 GB/s busbw (0.1 %), within expectation at that size."""
    seconds = 268435456 / 250e9
    assert algbw(268435456, seconds) == pytest.approx(250e9)
    assert busbw(Collective.ALL_REDUCE, 8, 268435456, seconds) == pytest.approx(437.5e9, rel=0.001)
    answer = ask("dgx-h100", "all_reduce", 8, size_bytes=268435456)
    assert answer.range.low <= seconds <= answer.range.high
    peak = ask("dgx-h100", "all_reduce", 8, size_bytes=17179869184).result
    assert peak.busbw_bytes_per_second == pytest.approx(480e9, rel=0.02)
    assert peak.algbw_bytes_per_second == pytest.approx(274e9, rel=0.02)


def test_u04_80b_fp32_values_over_200_gbit_a_second():
    """80e9 × 4 B = 320 GB; 200 Gbit/s is 25 GB/s; 12.8 s (0.1 %). In the core: one buffer once over one link."""
    from service.catalog.quantities import parse_quantity
    from service.core.collectives.bandwidth import seconds_at_busbw

    link = parse_quantity("200 Gbit/s", "bytes_per_second")
    assert link == 25e9
    size_bytes = 80e9 * Dtype.FP32.size_bytes
    assert seconds_at_busbw(Collective.SEND_RECV, 2, size_bytes, link) == pytest.approx(12.8, rel=0.001)


def test_u08_size_of_an_all_gather_is_the_total():
    """64 MiB from each of 8 ranks is 536870912 B in all; at 361.4 GB/s busbw 1.3 ms (2 %), not 0.16 ms."""
    from service.core.collectives.bandwidth import seconds_at_busbw

    assert total_size_bytes(Collective.ALL_GATHER, 8, 67108864) == 536870912
    assert seconds_at_busbw(Collective.ALL_GATHER, 8, 536870912, 361.4e9) == pytest.approx(1.3e-3, rel=0.02)
    line = ask("dgx-h100", "all_gather", 8, size_bytes=536870912).derivation[0]
    assert "n times what each contributes" in line.label


def test_c05_four_nodes_of_b200_with_one_nic_a_gpu():
    """4 GiB `all_reduce` on aws-p6-b200.48xlarge: 32 GPUs in 16.1 to 28 ms (measured 22.05), 8 in 10.15 ms (10 %).

    All eight NICs of a node work at once: neither 85.9 ms (one NIC for all) nor 166 ms (a ring over one NIC).
    """
    four_nodes = ask("aws-p6-b200.48xlarge", "all_reduce", 32, size_bytes=4294967296)
    assert 16.1e-3 <= four_nodes.result.seconds <= 28.0e-3
    assert four_nodes.range.low <= 22.05e-3 <= four_nodes.range.high
    assert ask("aws-p6-b200.48xlarge", "all_reduce", 8, size_bytes=4294967296).result.seconds == pytest.approx(
        10.15e-3, rel=0.1
    )


@pytest.mark.parametrize(("gpus", "busbw_gbs"), [(2, 47.7), (8, 312.9)])
def test_c09_two_of_eight_gpus_of_a_mesh(gpus, busbw_gbs):
    """4 GiB `all_reduce` on azure-nd96isr-mi300x-v5 (7 links of 64 GB/s to 7 peers), 15 %: two GPUs share one link."""
    answer = ask("azure-nd96isr-mi300x-v5", "all_reduce", gpus, size_bytes=4294967296)
    assert answer.result.busbw_bytes_per_second / 1e9 == pytest.approx(busbw_gbs, rel=0.15)


@pytest.mark.parametrize(("nodes", "bound_gbs"), [(2, 100), (4, 66.7), (32, 51.6)])
def test_c12_all_to_all_is_bound_by_one_nic_a_gpu(nodes, bound_gbs):
    """dgx-h100, 8 GPUs and 8 NICs of 50 GB/s a node: busbw at most N/(N−1) × 50 GB/s, in reality 48 to 49 a NIC."""
    answer = ask("dgx-h100", "all_to_all", 8 * nodes, size_bytes=8_000_000_000)
    assert answer.ideal.bandwidth_bytes_per_second / 1e9 == pytest.approx(bound_gbs, rel=0.07)
    assert answer.ideal.bandwidth_bytes_per_second / 1e9 <= bound_gbs
    assert answer.result.busbw_bytes_per_second < answer.ideal.bandwidth_bytes_per_second
    assert answer.result.bottleneck == "nic"


def test_c12_a_quarter_of_a_gigabyte_leaves_each_gpu():
    """8 GB over 16 GPUs is 0.5 GB a rank, half of which leaves: 0.25 GB at 50 GB/s, 5 ms (7 %).

    One node, 8 GB over 8: 1 GB a rank, 0.875 GB at 450 GB/s, 1.94 ms (5 %).
    """
    assert ask("dgx-h100", "all_to_all", 16, size_bytes=500_000_000).ideal.seconds == pytest.approx(5e-3, rel=0.07)
    assert ask("dgx-h100", "all_to_all", 8, size_bytes=1_000_000_000).ideal.seconds == pytest.approx(1.94e-3, rel=0.05)


def test_c14_p4d_on_one_and_on_two_instances():
    """1 GiB `all_reduce` on aws-p4d.24xlarge: 8 GPUs 8.14 ms (10 %); 16 in 21.5 to 45 ms (measured 35.2).

    The NIC line is 6.25 GB/s a GPU, 50 a node, not 50 a GPU.
    """
    assert ask("aws-p4d.24xlarge", "all_reduce", 8, size_bytes=1073741824).result.seconds == pytest.approx(
        8.14e-3, rel=0.1
    )
    two = ask("aws-p4d.24xlarge", "all_reduce", 16, size_bytes=1073741824)
    assert 21.5e-3 <= two.result.seconds <= 45e-3
    assert two.range.low <= 35.2e-3 <= two.range.high
    assert next(line for line in two.derivation if line.symbol == "B_nic").value == 6.25e9
