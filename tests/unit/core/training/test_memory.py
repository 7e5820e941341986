"""States by sharding against published figures."""

import pytest

from service.core.training.memory import (
    StageParameters,
    StateBytes,
    logits_bytes,
    model_states,
    stage_parameters,
    zero_bytes_per_parameter,
)
from service.core.training.parallelism import ParallelismPlan, Sharding
from service.core.transformer.parameters import total_parameters

GIB = 2**30


@pytest.mark.parametrize(("data", "expected"), [(1, 18), (8, 7.5), (64, 6.1875)])
def test_m02_megatron(data, expected):
    """M02 (Megatron-LM issue 654): 18, or 6 + 12 / d with the distributed optimizer."""
    plan = ParallelismPlan(data_parallel_size=data, sharding=Sharding.ZERO1)
    assert sum(zero_bytes_per_parameter(plan, StateBytes()).values()) == expected


@pytest.mark.parametrize(("sharding", "expected"), [(Sharding.ZERO2, 15.93 * 0 + (2 + 16 / 8)), (Sharding.ZERO3, 2.25)])
def test_zero(sharding, expected):
    """ZeRO, figure 1: 2 + (4 + 12)/8 and (2 + 4 + 12)/8 bytes a parameter on 8."""
    plan = ParallelismPlan(data_parallel_size=8, sharding=sharding)
    assert sum(zero_bytes_per_parameter(plan, StateBytes()).values()) == pytest.approx(expected)


def test_two_gathered_layers_stay():
    plan = ParallelismPlan(data_parallel_size=8, sharding=Sharding.ZERO3)
    states = model_states(StageParameters(800.0, 0.0, 10.0), plan, StateBytes())
    assert states.parameters_bytes == 2 * 100 + 2 * 2 * 10
    assert states.total_bytes == 240 + 400 + 1200


def test_experts_divide_by_their_own_replicas():
    """4 replicas of the dense part, 2 of the experts: 12 (100 / 4 + 100 / 2)."""
    plan = ParallelismPlan(expert_parallel_size=2, data_parallel_size=4, sharding=Sharding.ZERO1)
    assert model_states(StageParameters(100.0, 100.0, 0.0), plan, StateBytes()).optimizer_bytes == 12 * 75


@pytest.mark.parametrize("model", ["llama3-70b", "megatron-22b", "mixtral-8x7b", "deepseek-v3"])
def test_one_stage_holds_the_model(catalog, model):
    shape = catalog.model(model).architecture
    moe = shape.moe.num_moe_layers if shape.moe else 0
    held = stage_parameters(shape, ParallelismPlan(), shape.num_layers - moe, moe, first=True, last=True)
    assert held.total == pytest.approx(total_parameters(shape), rel=1e-4)


def test_m03_logits(catalog):
    """M03: 32,768 tokens × 128,256 × 4 bytes are 15.7 GiB; 23.5 with a copy in 2."""
    assert logits_bytes(32768, 128256, 1, half_copy=False) / GIB == pytest.approx(15.66, abs=0.01)
    assert logits_bytes(32768, 128256, 1, half_copy=True) / GIB == pytest.approx(23.5, abs=0.05)
