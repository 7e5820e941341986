"""Which GPU of a replica holds what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServingLayout:
    """How one replica is cut.

    Parameters
    ----------
    tensor_parallel_size : int
        t, GPUs that share each attention layer and each dense MLP.
    pipeline_parallel_size : int
        p, stages of layers.
    attention_data_parallel_size : int
        a, copies of the attention, each for its own sequences; the experts are shared by all of them.
    expert_parallel_size : int
        e, parts that the experts are dealt to; each part is cut t a / e ways.
    """

    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    attention_data_parallel_size: int = 1
    expert_parallel_size: int = 1

    @property
    def stage_gpus(self) -> int:
        """GPUs that work on one layer: t a."""
        return self.tensor_parallel_size * self.attention_data_parallel_size

    @property
    def gpus(self) -> int:
        """GPUs of the replica: t a p."""
        return self.stage_gpus * self.pipeline_parallel_size

    @property
    def expert_tensor_parallel_size(self) -> int:
        """GPUs that share one expert: t a / e."""
        return self.stage_gpus // self.expert_parallel_size
