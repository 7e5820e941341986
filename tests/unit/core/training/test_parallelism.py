"""Sizes, and where groups lie."""

import pytest

from service.core.placement import Placement
from service.core.training.parallelism import ParallelismPlan, Sharding, group_placement


def test_sizes():
    plan = ParallelismPlan(8, 16, 8, 2, data_parallel_size=64, sequence_parallel=True)
    assert (plan.stage_gpus, plan.gpus, plan.replicas, plan.activation_divisor) == (1024, 16384, 128, 8)


def test_experts_have_fewer_replicas():
    """DeepSeek-V3 on 256: 64 GPUs a stage, experts over 64: one copy."""
    plan = ParallelismPlan(1, 4, expert_parallel_size=64, data_parallel_size=64)
    assert (plan.expert_replicas, plan.activation_divisor) == (1, 1)


@pytest.mark.parametrize(
    ("sharding", "group", "expected"),
    [(Sharding.NONE, None, 1), (Sharding.ZERO1, None, 64), (Sharding.HSDP, 8, 8), (Sharding.ZERO3, None, 64)],
)
def test_over_how_many_ranks_states_are_divided(sharding, group, expected):
    plan = ParallelismPlan(data_parallel_size=64, sharding=sharding, sharding_group_size=group)
    assert plan.sharding_ranks(plan.replicas) == expected
    assert sharding.gathers_parameters == (sharding in (Sharding.ZERO3, Sharding.HSDP))


@pytest.mark.parametrize(
    ("size", "stride", "node", "domain", "expected"),
    [
        (8, 1, 8, 8, Placement(8, 8, 8)),  # tensor parallelism fills a node
        (64, 8, 8, 8, Placement(64, 1, 1)),  # data parallelism has one rank a node
        (16, 4, 8, 8, Placement(16, 2, 2)),
        (64, 1, 4, 72, Placement(64, 4, 64)),  # 64 of an NVL72
        (4, 16, 4, 72, Placement(4, 1, 4)),
        (128, 1, 4, 72, Placement(128, 4, 64)),
    ],
)
def test_where_a_group_lies(size, stride, node, domain, expected):
    assert group_placement(size, stride, node, domain) == expected
