"""Groups and messages of a plan."""

import pytest

from service.core.collectives.cost import Collective
from service.core.placement import Placement
from service.planning.training_messages import context_exchange, expert_exchange_seconds, groups_of
from service.planning.training_question import TrainingQuestion
from service.planning.training_resolve import resolve_training


def scene(catalog, **fields):
    return resolve_training(TrainingQuestion.of({"model": "llama3-70b", "system": "dgx-h100", **fields}), catalog)


def test_tensor_parallelism_stays_in_the_node(catalog):
    groups = groups_of(scene(catalog, gpus=64, tensor_parallel_size=8, pipeline_parallel_size=2), catalog)
    assert groups.tensor.placement == Placement(8, 8, 8)
    assert groups.data.placement == Placement(4, 1, 1)
    assert groups.neighbours.placement == Placement(2, 1, 1)
    assert groups.context.seconds(Collective.ALL_GATHER, 1e6) == 0


def test_one_gpu_has_nothing_to_say(catalog):
    groups = groups_of(scene(catalog, model="llama3-8b", gpus=1), catalog)
    assert all(g.path is None for g in (groups.tensor, groups.data, groups.expert, groups.context, groups.neighbours))


def test_a_ring_passes_keys_and_values(catalog):
    """2 bytes × 8192 tokens × 8 key-value heads / 4 ranks × (128 + 128)."""
    asked = scene(catalog, gpus=16, tensor_parallel_size=4, context_parallel_size=4, sequence_length=8192)
    _, size, seconds = context_exchange(asked, groups_of(asked, catalog).context)
    assert size == 2 * 8192 * 2 * 256
    assert seconds > size / 450e9


@pytest.mark.parametrize(("dispatcher", "slower"), [("deepep", False), ("all_to_all", True)])
def test_deepep_sends_less_across_nodes(catalog, dispatcher, slower):
    asked = scene(
        catalog, model="qwen3-235b-a22b", gpus=32, expert_parallel_size=32, expert_dispatcher=dispatcher,
    )  # fmt: skip
    _, seconds = expert_exchange_seconds(asked, groups_of(asked, catalog).expert, 4096, catalog)
    plain = 4096 * 8 * 2 * 4096 * 24 / 32 / 50e9  # every copy that leaves the node, over one NIC
    assert (seconds > plain) == slower
