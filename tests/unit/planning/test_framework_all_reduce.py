"""An all-reduce of a serving framework: its kernel, its launch, its hand-over to NCCL, and how sure each is."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Algorithm, Collective
from service.core.numerics import Dtype
from service.errors import UnsupportedCollective
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion

CATALOG = load_shipped_catalog()
KIB, MIB = 1024, 1024 * 1024


def ask(system="dgx-h100", gpus=8, size_bytes=64 * KIB, implementation="vllm", launch="graph", **fields):
    question = CollectiveQuestion(
        system,
        Collective.ALL_REDUCE,
        gpus,
        size_bytes=size_bytes,
        implementation=implementation,
        launch=launch,
        **fields,
    )
    return estimate_collective(question, CATALOG)


def codes(answer):
    return {warning.code for warning in answer.warnings}


def test_a_small_buffer_is_the_frameworks_own_kernels():
    answer = ask()
    result = answer.result
    assert (result.algorithm, result.protocol) == (Algorithm.ONE_SHOT, None)
    assert result.bytes_on_wire_per_gpu == 7 * 64 * KIB
    assert answer.range.basis_kind == "measured"
    assert answer.range.low <= result.seconds <= answer.range.high
    assert "framework-version" in codes(answer)
    assert {"way", "a", "t_gpu", "t"} <= {line.symbol for line in answer.derivation}


def test_decode_sized_buffers_are_several_times_faster_than_nccl():
    """8 KiB on 8 H100: 3.5 to 5 us measured in graphs, 16 us by nccl-tests."""
    for implementation in ("trtllm", "vllm", "sglang"):
        assert 3 * ask(size_bytes=8 * KIB, implementation=implementation).result.seconds < 16.2e-6


def test_the_candidates_hold_both_kinds_and_the_answer():
    answer = ask(launch="eager", size_bytes=256 * MIB)
    by_algorithm = {c.algorithm: c for c in answer.result.candidates if c.protocol is None}
    assert not by_algorithm[Algorithm.ONE_SHOT].available
    assert "larger than" in by_algorithm[Algorithm.ONE_SHOT].why_not
    assert answer.result.seconds in {c.seconds for c in answer.result.candidates}


def test_a_large_buffer_is_handed_to_nccl():
    answer, nccl = ask(size_bytes=256 * MIB), ask(size_bytes=256 * MIB, implementation="nccl", launch="eager")
    assert answer.result.seconds == nccl.result.seconds
    assert answer.result.algorithm is nccl.result.algorithm is Algorithm.NVLS
    assert "handed-to-nccl" in codes(answer)
    assert "CUDA graphs" in answer.range.basis


def test_python_takes_longer_than_the_kernel():
    eager, graph = ask(launch="eager"), ask()
    assert eager.result.seconds > 2 * graph.result.seconds
    assert {"t_copy", "t_host"} <= {line.symbol for line in eager.derivation}
    large = ask(launch="eager", size_bytes=256 * MIB)
    assert large.result.seconds > ask(size_bytes=256 * MIB).result.seconds
    assert large.range.low <= large.result.seconds <= large.range.high


def test_what_nobody_measured_is_less_sure_and_says_so():
    """TensorRT-LLM has no eager rows; six GPUs and trays of a rack have no rows at all."""
    eager = ask(implementation="trtllm", launch="eager")
    assert eager.range.basis_kind == "calibrated"
    assert "not-measured" in codes(eager)
    assert eager.range.high / eager.range.low > 3
    six, eight = ask(gpus=6), ask(gpus=8)
    assert six.range.basis_kind == "calibrated"
    assert six.range.high / six.range.low > eight.range.high / eight.range.low
    assert "not-measured" in codes(ask("gb200-nvl72", 8))
    assert "not-measured" not in codes(ask("gb200-nvl72", 4))


def test_another_machine_with_the_same_gpus_is_less_sure_above_all_of_its_cpu():
    """vLLM's call took 20 us on x86 hosts of H100, 45 us on those of A100."""
    graph, measured = ask("aws-p5.48xlarge"), ask()
    assert graph.result.seconds == measured.result.seconds
    assert graph.range.basis_kind == "calibrated"
    assert graph.range.high > measured.range.high
    eager = ask("aws-p5.48xlarge", launch="eager").range
    assert 20e-6 < eager.low * 1.1 < 23e-6
    assert 40e-6 < eager.high < 50e-6


def test_a_kernel_may_be_forced_within_its_buffer():
    assert ask(algorithm=Algorithm.MULTIMEM).result.algorithm is Algorithm.MULTIMEM
    assert ask(algorithm=Algorithm.ONE_SHOT).result == ask().result
    with pytest.raises(UnsupportedCollective) as refusal:
        ask(algorithm=Algorithm.ONE_SHOT, size_bytes=256 * MIB)
    (problem,) = refusal.value.problems
    assert (problem.pointer, problem.suggestion) == ("/algorithm", "auto")


def test_element_types_that_symmetric_memory_lacks_go_to_nccl():
    assert ask(size_bytes=1 * MIB).result.algorithm is Algorithm.MULTIMEM
    assert "handed-to-nccl" in codes(ask(size_bytes=1 * MIB, dtype=Dtype.FP16))


def test_one_gpu_is_free():
    assert ask(gpus=1).result.seconds == 0.0
