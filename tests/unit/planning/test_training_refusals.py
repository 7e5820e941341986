"""What cannot be trained, every reason at once, with what could."""

import pytest

from service.errors import StepcastError
from service.planning.training_question import TrainingQuestion
from service.planning.training_resolve import resolve_training


def refused(catalog, **fields):
    question = {"model": "llama3-70b", "system": "dgx-h100", "gpus": 64, **fields}
    with pytest.raises(StepcastError) as refusal:
        resolve_training(TrainingQuestion.of(question), catalog)
    return {p.pointer: p for p in refusal.value.problems}


def test_every_reason_at_once(catalog):
    problems = refused(
        catalog, gpus=60, tensor_parallel_size=7, pipeline_parallel_size=3, global_batch_size=1, precision="fp4",
        expert_parallel_size=2,
    )  # fmt: skip
    assert set(problems) == {
        "/gpus", "/tensor_parallel_size", "/pipeline_parallel_size", "/global_batch_size", "/precision",
        "/expert_parallel_size",
    }  # fmt: skip
    assert problems["/gpus"].suggestion == 63
    assert problems["/tensor_parallel_size"].suggestion == 8


@pytest.mark.parametrize(
    ("fields", "pointer", "suggestion"),
    [
        ({"tensor_parallel_size": 8, "data_parallel_size": 4}, "/data_parallel_size", 8),
        ({"global_batch_size": 32}, "/global_batch_size", 64),
        (
            {
                "tensor_parallel_size": 4,
                "pipeline_parallel_size": 8,
                "virtual_pipeline_size": 5,
                "global_batch_size": 8,
            },
            "/global_batch_size",
            16,
        ),
        ({"pipeline_parallel_size": 8, "virtual_pipeline_size": 3}, "/virtual_pipeline_size", 2),
        ({"virtual_pipeline_size": 2}, "/virtual_pipeline_size", 1),
        ({"pipeline_parallel_size": 2, "pipeline_layers": [40, 41]}, "/pipeline_layers", [40, 40]),
        ({"sharding": "hsdp", "sharding_group_size": 48}, "/sharding_group_size", 32),
        ({"sharding": "zero3", "sharding_group_size": 8}, "/sharding_group_size", None),
        ({"context_parallel_size": 64, "sequence_length": 100}, "/sequence_length", 128),
        ({"recompute": "full", "recompute_layers": 81}, "/recompute_layers", 80),
        ({"gpus": 128, "pipeline_parallel_size": 128}, "/pipeline_parallel_size", 80),
        ({"gpus": 131072}, "/gpus", 65536),
        ({"model": "mixtral-8x7b", "expert_parallel_size": 3, "gpus": 6}, "/expert_parallel_size", 2),
        ({"model": "mixtral-8x7b", "expert_parallel_size": 8, "gpus": 12}, "/expert_parallel_size", 4),
        ({"model": "llama3-8b", "tensor_parallel_size": 3, "gpus": 3}, "/tensor_parallel_size", 2),
    ],
)
def test_the_nearest_that_can(catalog, fields, pointer, suggestion):
    problems = refused(catalog, **fields)
    assert problems[pointer].suggestion == suggestion


@pytest.mark.parametrize(
    ("model", "stages", "layers"),
    [("glm-4.5-air", 4, [11, 12, 12, 11]), ("glm-4.5", 8, [10, 12, 12, 12, 12, 12, 12, 10])],
)
def test_v05_uneven_stages_are_said_not_guessed(catalog, model, stages, layers):
    """V05 (Megatron-Bridge 5551): 46 layers over 4 and 92 over 8 are refused; stated, the largest stage paces."""
    fields = {"model": model, "gpus": 8 * stages, "pipeline_parallel_size": stages, "global_batch_size": 8 * stages}
    assert "/pipeline_parallel_size" in refused(catalog, **fields)
    question = {"system": "dgx-h100", **fields, "pipeline_layers": layers}
    scene = resolve_training(TrainingQuestion.of(question), catalog)
    assert max(stage.layers for stage in scene.stages) == 12
