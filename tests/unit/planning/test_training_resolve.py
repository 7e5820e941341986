"""Questions as things: what is filled in."""

import pytest

from service.core.training.parallelism import Sharding
from service.errors import UnknownCatalogEntry
from service.planning.training_question import TrainingQuestion
from service.planning.training_resolve import resolve_training


def scene(catalog, **fields):
    question = {"model": "llama3-70b", "system": "dgx-h100", "gpus": 64, **fields}
    return resolve_training(TrainingQuestion.of(question), catalog)


def test_what_the_gpus_leave_is_data_parallel(catalog):
    found = scene(catalog, tensor_parallel_size=8, pipeline_parallel_size=2)
    assert (found.plan.data_parallel_size, found.plan.sequence_parallel) == (4, True)
    assert (found.plan.sharding, found.global_batch_size, found.micro_batches) == (Sharding.ZERO1, 8, 2)
    assert found.sequence_length == 4096


def test_frameworks_differ(catalog):
    fsdp = scene(catalog, framework="fsdp")
    assert (fsdp.plan.sharding, fsdp.gathers, fsdp.overlap.gradient_reduce) == (Sharding.ZERO3, True, True)
    deepspeed = scene(catalog, framework="deepspeed", overlap={"tensor_parallel": True})
    assert (deepspeed.overlap.gradient_reduce, deepspeed.overlap.tensor_parallel) == (False, True)


def test_stages_know_their_layers(catalog):
    """DeepSeek-V3: three dense layers first; its module that predicts more tokens is on the last stage."""
    stages = scene(catalog, model="deepseek-v3", pipeline_parallel_size=4, pipeline_layers=[15, 15, 15, 16]).stages
    assert [(s.dense_layers, s.expert_layers) for s in stages] == [(3, 12), (0, 15), (0, 15), (0, 16)]
    assert [(s.first, s.last, s.mtp_layers) for s in (stages[0], stages[-1])] == [(True, False, 0), (False, True, 1)]


def test_recomputed_layers(catalog):
    assert scene(catalog).recomputed_ratio == 0
    assert scene(catalog, recompute="full").recomputed_ratio == 1
    assert scene(catalog, recompute="full", recompute_layers=20).recomputed_ratio == 0.25


def test_names_are_looked_up(catalog):
    with pytest.raises(UnknownCatalogEntry):
        scene(catalog, model="llama9")
