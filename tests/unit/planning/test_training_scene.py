"""Derived facts of a scene: see also test_training_resolve."""

from service.planning.training_question import TrainingQuestion
from service.planning.training_resolve import resolve_training


def test_tokens_and_sharding(catalog):
    question = {"model": "llama3-8b", "system": "dgx-h100", "gpus": 8, "sharding": "none", "sequence_length": 2048}
    scene = resolve_training(TrainingQuestion.of(question), catalog)
    assert (scene.tokens, scene.shards_gradients, scene.gathers) == (8 * 2048, False, False)
    assert scene.stages[0].layers == 32
