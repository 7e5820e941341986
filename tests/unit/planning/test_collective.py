"""The planner: the answer's parts agree with each other and with the question."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.numerics import Dtype
from service.errors import StepcastError, UnsupportedCollective
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion


@cache
def catalog():
    return load_shipped_catalog()


def ask(system="dgx-h100", collective="all_reduce", gpus=8, **fields):
    if "model" not in fields:
        fields.setdefault("size_bytes", 1 << 26)
    return estimate_collective(CollectiveQuestion(system, Collective(collective), gpus, **fields), catalog())


def test_the_answer_says_what_was_resolved_and_filled_in():
    answer = ask("H100", model="llama3-70b")
    inputs = answer.inputs
    assert inputs["system"] == "dgx-h100"
    assert inputs["model"] == "llama3-70b"
    assert answer.result.size_bytes == 141107412992  # 70553706496 parameters × 2 B
    assert (inputs["algorithm"], inputs["gpus_per_node"]) == ("auto", 8)


def test_rates_follow_from_the_time():
    result = ask().result
    assert result.algbw_bytes_per_second == pytest.approx((1 << 26) / result.seconds)
    assert result.busbw_bytes_per_second == pytest.approx(1.75 * (1 << 26) / result.seconds)
    assert result.seconds == pytest.approx(result.latency_seconds + result.bandwidth_seconds)


def test_ideal_is_the_ring_formula():
    """1.75 × 67108864 B / 450 GB/s = 260.98 us; half of it at the headline."""
    ideal = ask().ideal
    assert ideal.seconds == pytest.approx(260.98e-6, rel=1e-4)
    assert ideal.headline_seconds == pytest.approx(130.49e-6, rel=1e-4)


def test_the_chosen_way_is_a_candidate():
    result = ask().result
    mine = [c for c in result.candidates if (c.algorithm, c.protocol) == (result.algorithm, result.protocol)]
    assert [c.seconds for c in mine] == [result.seconds]
    assert all(c.available == (c.why_not is None) == (c.seconds is not None) for c in result.candidates)


def test_an_overlap_window_hides_what_it_can():
    seconds = ask().result.seconds
    assert ask(overlap_window_seconds=0.0).result.exposed_seconds == seconds
    assert ask(overlap_window_seconds=1.0).result.exposed_seconds == 0.0
    assert ask(overlap_window_seconds=seconds / 2).result.exposed_seconds == pytest.approx(seconds / 2)
    assert ask().result.exposed_seconds is None


def test_one_gpu_is_free():
    answer = ask(gpus=1)
    assert answer.result.seconds == answer.range.high == 0.0
    assert answer.warnings[0].code == "single-rank"


def test_asking_for_a_way_gets_that_way():
    result = ask(algorithm=Algorithm.RING, protocol=Protocol.LL128).result
    assert (result.algorithm, result.protocol) == (Algorithm.RING, Protocol.LL128)


def test_a_way_that_is_not_available_says_why():
    with pytest.raises(UnsupportedCollective) as refusal:
        ask("dgx-a100", algorithm=Algorithm.NVLS)
    (problem,) = refusal.value.problems
    assert problem.pointer == "/algorithm"
    assert "no switch that can add" in problem.message
    assert "ring" in problem.allowed


def test_several_domains_cross_the_network():
    """Two DGX H100: the ring's bound is min(450, 8 × 50) GB/s."""
    answer = ask(gpus=16, size_bytes=1 << 30)
    assert answer.ideal.bandwidth_bytes_per_second == 400e9
    assert answer.result.algorithm is Algorithm.NVLS_TREE
    assert answer.range.basis_kind == "calibrated"
    assert {"B_nic", "B_bound"} <= {line.symbol for line in answer.derivation}
    assert ask(gpus=16, collective="all_to_all", size_bytes=1 << 30).result.bottleneck == "nic"


def test_a_system_without_a_network_stops_at_its_domain():
    with pytest.raises(StepcastError) as refusal:
        ask("hgx-h100-8gpu", gpus=16)
    (problem,) = refusal.value.problems
    assert (problem.pointer, problem.value, problem.suggestion) == ("/gpus", 16, 8)


def test_a_rack_is_one_domain():
    assert ask("gb200-nvl72", gpus=72).result.seconds > 0


def test_every_problem_is_told_at_once():
    with pytest.raises(StepcastError) as refusal:
        ask("dgx-b200", model="llama-3-71b", nccl_version="2.20", gpus=9999)
    pointers = {p.pointer for p in refusal.value.problems}
    assert pointers == {"/gpus", "/model", "/nccl_version"}


def test_registered_buffers_take_the_symmetric_kernels_and_say_that_no_table_shows_them():
    """8 KiB of bf16 on 8 H100: LL sends 2 × 7 × 8 KiB at 0.837 × 450 GB/s (0.3 us) after NCCL's own 4.5 us."""
    answer = ask(size_bytes=8192, registered_buffers=True)
    assert (answer.result.algorithm, answer.result.protocol) == (Algorithm.SYMMETRIC, Protocol.LL)
    assert answer.result.seconds == pytest.approx(4.8e-6, rel=0.01)
    assert [w.code for w in answer.warnings] == ["unvalidated"]
    off = next(s for s in answer.result.environment if s.variable == "NCCL_WIN_ENABLE")
    assert off.seconds == pytest.approx(ask(size_bytes=8192).result.seconds)
    assert "NCCL_CTA_POLICY" in {
        s.variable for s in ask(collective=Collective.ALL_TO_ALL, registered_buffers=True).result.environment
    }


def test_an_older_nccl_lacks_what_came_later():
    """2.26 has no symmetric kernels; 2.16 no NVLS, so a large all-reduce stays on the ring."""
    older = ask(size_bytes=8192, registered_buffers=True, nccl_version="2.26.2")
    assert older.result.seconds == ask(size_bytes=8192).result.seconds
    assert ask(size_bytes=1 << 30, nccl_version="2.16").result.algorithm is Algorithm.RING
    assert ask(size_bytes=1 << 30).result.algorithm is Algorithm.NVLS


def test_fewer_ctas_slow_a_large_buffer():
    """8 CTAs move 8 × 36.7 GB/s = 293.6 of the 376.7 GB/s that a ring of 8 H100 reaches.

    7/8 S over either, and the own share S/8 copied at 592 GB/s: (2.980 + 0.211) / (2.323 + 0.211) = 1.259.
    """
    answer = ask(size_bytes=1 << 30, collective=Collective.ALL_GATHER)
    fewer = next(s for s in answer.result.environment if s.variable == "NCCL_MAX_CTAS")
    assert fewer.value == "8"
    assert fewer.ratio == pytest.approx(1.259, rel=0.01)


def test_part_of_a_rack_can_be_asked_again():
    """Five of a GB200 rack are four and one: no number of GPUs a node, so the inputs leave it out."""
    answer = ask("gb200-nvl72", gpus=5)
    assert answer.inputs["gpus_per_node"] is None


@pytest.mark.parametrize("fields", [{"size_bytes": None}, {"size_bytes": 5, "model": "llama3-70b"}])
def test_a_size_or_a_model_exactly_one(fields):
    with pytest.raises(StepcastError) as refusal:
        ask(**fields)
    assert refusal.value.problems[0].pointer == "/size_bytes"


def test_fp8_sums_need_a_gpu_that_has_fp8():
    with pytest.raises(StepcastError) as refusal:
        ask("dgx-a100", dtype=Dtype.FP8)
    assert refusal.value.problems[0].pointer == "/dtype"
    assert ask("dgx-a100", "all_gather", dtype=Dtype.FP8).result.seconds > 0


def test_unmeasured_hardware_says_so():
    """Two of eight MI300X share one link of 64 GB/s: a mesh is not a switch."""
    answer = ask("azure-nd96isr-mi300x-v5", gpus=2, size_bytes=1 << 32)
    assert answer.range.basis_kind == "speed_of_light"
    assert "not-measured" in {w.code for w in answer.warnings}
    assert answer.result.busbw_bytes_per_second < 64e9
    assert ask("azure-nd96isr-mi300x-v5", gpus=8, size_bytes=1 << 32).result.busbw_bytes_per_second > 4 * 64e9


def test_measured_hardware_says_so():
    assert ask().range.basis_kind == "measured"
    assert ask(gpus=6).range.basis_kind == "calibrated"


def test_the_same_gpus_on_another_host_are_less_sure():
    """Public runs on virtual machines are up to twice as slow for small messages, and no slower for large ones."""
    own, other = ask(), ask("aws-p5.48xlarge")
    assert other.result.seconds == own.result.seconds
    assert other.range.basis_kind == "calibrated"
    assert other.range.high > own.range.high


def test_the_range_holds_the_answer_and_respects_physics():
    answer = ask()
    assert answer.range.low <= answer.result.seconds <= answer.range.high
    assert answer.range.low >= answer.result.bytes_on_wire_per_gpu / 450e9


@pytest.mark.parametrize("collective", [Collective.BROADCAST, Collective.REDUCE, Collective.SEND_RECV])
def test_what_no_table_shows_is_unvalidated(collective):
    answer = ask(collective=collective)
    assert "unvalidated" in {w.code for w in answer.warnings}
    assert answer.range.high / answer.range.low > 2


def test_an_estimate_is_a_pure_function():
    assert ask() == ask()


def test_metas_spine_holds_up_an_all_to_all_over_pods_and_no_all_reduce():
    """24576 GPUs in pods of 3072 at 1:7; 16384 of them, one kilobyte for each peer: 13312 × 7 / 3 times a pod's."""
    over_pods = ask("meta-24k-h100-roce", "all_to_all", 16384, size_bytes=16384 * 10**6).result
    one_pod = ask("meta-24k-h100-roce", "all_to_all", 3072, size_bytes=3072 * 10**6).result
    assert over_pods.seconds / one_pod.seconds == pytest.approx(7 * (16384 - 3072) / (3072 - 8), rel=0.02)
    flat = ask("dgx-h100", "all_reduce", 16384, size_bytes=1 << 30).result.seconds
    tapered = ask("meta-24k-h100-roce", "all_reduce", 16384, size_bytes=1 << 30).result.seconds
    assert tapered == pytest.approx(flat, rel=0.1)


def test_two_gpus_on_two_nodes_have_no_switch_to_add_in():
    """One GPU a node: NVLSTree would divide by its no heads."""
    answer = ask(gpus=2, gpus_per_node=1)
    assert 0 < answer.result.seconds < 1
    assert answer.result.algorithm in ("ring", "tree")
