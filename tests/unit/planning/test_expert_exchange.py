"""The answer about an expert exchange, held against rows of the published table."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.expert_exchange import ExpertKernel, Phase
from service.core.numerics import Dtype
from service.errors import StepcastError
from service.planning.expert_exchange import estimate_expert_exchange
from service.planning.expert_question import ExpertQuestion


@cache
def catalog():
    return load_shipped_catalog()


def ask(system="dgx-h100", phase=Phase.DISPATCH, gpus=8, tokens=4096, **fields):
    whole = {"hidden_size": 7168, "top_k": 8, "num_experts": 256, "dtype": Dtype.FP8} | fields
    return estimate_expert_exchange(ExpertQuestion(system, phase, gpus, tokens, **whole), catalog())


@pytest.mark.parametrize(
    ("phase", "dtype", "tokens", "kernel", "sms", "measured_us"),
    [
        (Phase.DISPATCH, Dtype.FP8, 4096, ExpertKernel.DEEPEP_NORMAL, 20, 492.2),
        (Phase.DISPATCH, Dtype.FP8, 8192, ExpertKernel.DEEPEP_NORMAL, 12, 1462.8),
        (Phase.COMBINE, Dtype.BF16, 8192, ExpertKernel.DEEPEP_NORMAL, 24, 1839.0),
        (Phase.DISPATCH, Dtype.FP8, 16, ExpertKernel.DEEPEP_LOW_LATENCY, None, 15.6),
        (Phase.COMBINE, Dtype.BF16, 16, ExpertKernel.DEEPEP_LOW_LATENCY, None, 18.3),
    ],
)
def test_deepep_on_eight_h100(phase, dtype, tokens, kernel, sms, measured_us):
    """Rows of DeepSeek-V3's layer in validation/expert_exchange.csv, within 25 % and inside the range."""
    answer = ask(phase=phase, dtype=dtype, tokens=tokens, kernel=kernel, sms=sms)
    assert answer.result.seconds == pytest.approx(measured_us * 1e-6, rel=0.25)
    assert answer.range.low <= measured_us * 1e-6 <= answer.range.high
    assert answer.range.basis_kind == "measured"


def test_few_tokens_take_the_low_latency_kernel_and_many_the_normal_one():
    assert ask(tokens=16).result.algorithm is ExpertKernel.DEEPEP_LOW_LATENCY
    assert ask(tokens=8192).result.algorithm is ExpertKernel.DEEPEP_NORMAL


def test_never_under_the_bound():
    """4096 tokens in fp8 to the 4.6 other ranks they reach: 33 kB each at 450 GB/s: 0.31 ms."""
    answer = ask()
    assert answer.ideal.seconds == pytest.approx(3.1e-4, rel=0.02)
    assert answer.result.seconds >= answer.ideal.seconds
    assert answer.range.low >= answer.ideal.seconds


def test_two_sided_kernels_count_first():
    answer = ask("gb200-nvl72", gpus=32, implementation="trtllm", kernel=ExpertKernel.NVLINK_TWO_SIDED)
    assert "t_prepare" in {line.symbol for line in answer.derivation}


def test_between_nodes_only_what_was_measured_there():
    answer = ask(gpus=32)
    assert answer.result.algorithm is ExpertKernel.DEEPEP_LOW_LATENCY
    assert answer.result.bottleneck == "nic"
    normal = next(c for c in answer.result.candidates if c.algorithm is ExpertKernel.DEEPEP_NORMAL)
    assert "one NVLink domain" in normal.why_not
    with pytest.raises(StepcastError):
        ask(gpus=32, kernel=ExpertKernel.DEEPEP_NORMAL)


def test_where_nothing_was_measured_nccl_stands_in_and_the_answer_says_so():
    answer = ask("dgx-a100")
    assert answer.result.algorithm is ExpertKernel.ALL_TO_ALL
    assert "not-measured" in {w.code for w in answer.warnings}


def test_a_window_hides_it():
    answer = ask(overlap_window_seconds=1.0)
    assert answer.result.exposed_seconds == 0.0
