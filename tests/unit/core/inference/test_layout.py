"""The sizes multiply to the GPUs."""

from __future__ import annotations

from service.core.inference.layout import ServingLayout


def test_attention_copies_and_stages_multiply() -> None:
    layout = ServingLayout(2, 3, 4, 8)
    assert layout.stage_gpus == 8
    assert layout.gpus == 24
    assert layout.expert_tensor_parallel_size == 1


def test_experts_dealt_to_half_the_gpus_are_cut_in_two() -> None:
    assert ServingLayout(8, expert_parallel_size=4).expert_tensor_parallel_size == 2
