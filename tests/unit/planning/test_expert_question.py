"""What can be asked about experts: every problem at once, with what would do."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.expert_exchange import Phase
from service.core.numerics import Dtype
from service.errors import StepcastError
from service.planning.expert_question import ExpertQuestion, resolve_experts

WHOLE = {"tokens": 128, "hidden_size": 7168, "top_k": 8, "num_experts": 256}


@cache
def catalog():
    return load_shipped_catalog()


def ask(system="dgx-h100", gpus=8, **fields):
    return resolve_experts(ExpertQuestion(system, Phase.DISPATCH, gpus, **WHOLE | fields), catalog())


def test_the_group_is_placed():
    system, placement = ask(gpus=32, expert_parallel_size=16)
    assert system.id == "dgx-h100"
    assert (placement.num_ranks, placement.ranks_per_domain, placement.num_domains) == (16, 8, 2)


@pytest.mark.parametrize(
    ("fields", "pointers"),
    [
        ({"tokens": None, "top_k": None}, {"/tokens", "/top_k"}),
        ({"num_experts": 100}, {"/num_experts"}),
        ({"top_k": 300, "system": "dgx-h1000"}, {"/top_k", "/system"}),
        ({"gpus": 8, "expert_parallel_size": 3}, {"/expert_parallel_size", "/num_experts"}),
        ({"dtype": Dtype.INT8}, {"/dtype"}),
        ({"others": {"size_bytes": 5}}, {"/size_bytes"}),
    ],
)
def test_every_problem_is_told_at_once(fields, pointers):
    with pytest.raises(StepcastError) as refusal:
        ask(**fields)
    assert {p.pointer for p in refusal.value.problems} >= pointers


def test_the_nearest_number_of_experts_is_suggested():
    with pytest.raises(StepcastError) as refusal:
        ask(num_experts=100)
    (problem,) = refusal.value.problems
    assert problem.suggestion == 96
