"""What cannot be asked of frameworks' kernels: refused by field, all at once."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.numerics import Dtype
from service.errors import StepcastError
from service.planning.collective_question import CollectiveQuestion, resolve

CATALOG = load_shipped_catalog()


def problems(system="dgx-h100", collective=Collective.ALL_REDUCE, gpus=8, implementation="vllm", **fields):
    question = CollectiveQuestion(system, collective, gpus, size_bytes=65536, implementation=implementation, **fields)
    with pytest.raises(StepcastError) as refusal:
        resolve(question, CATALOG)
    return {problem.pointer: problem for problem in refusal.value.problems}


def test_another_collective_is_nccls():
    problem = problems(collective=Collective.ALL_TO_ALL)["/implementation"]
    assert (problem.value, problem.suggestion) == ("vllm", "nccl")


def test_several_domains_are_out_of_reach():
    problem = problems(gpus=16)["/gpus"]
    assert "one NVLink domain" in problem.message
    assert (problem.allowed, problem.suggestion) == ([2, 4, 6, 8], 8)


def test_counts_that_the_kernels_do_not_know():
    assert problems(gpus=3)["/gpus"].suggestion == 2
    assert problems(gpus=6, implementation="trtllm")["/gpus"].allowed == [2, 4, 8]
    assert problems("gb200-nvl72", gpus=72)["/gpus"].suggestion == 8


def test_whole_numbers_and_eight_bits_are_not_added():
    assert problems(dtype=Dtype.INT8)["/dtype"].allowed == ["bf16", "fp16", "fp32"]
    assert "/dtype" in problems(dtype=Dtype.FP8)


def test_hardware_that_nobody_measured():
    assert "nothing was measured" in problems("azure-nd96isr-mi300x-v5")["/implementation"].message


def test_every_problem_at_once():
    found = problems(gpus=3, dtype=Dtype.INT8, algorithm=Algorithm.RING, protocol=Protocol.LL)
    assert set(found) == {"/gpus", "/dtype", "/algorithm", "/protocol"}
    assert found["/algorithm"].allowed == ["auto", "one_shot", "two_shot", "multimem"]


def test_a_frameworks_kernel_is_not_nccls():
    problem = problems(implementation="nccl", algorithm=Algorithm.TWO_SHOT)["/algorithm"]
    assert "serving frameworks" in problem.message
    assert "two_shot" not in problem.allowed


def test_a_system_that_is_unknown_is_the_only_problem_of_its_kind():
    assert set(problems("dgx-h1000", gpus=3)) == {"/system"}
