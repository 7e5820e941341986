"""One layer of one micro-batch, as it lies on one GPU."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.training.parallelism import ParallelismPlan
from service.core.transformer.architecture import TransformerArchitecture


@dataclass(frozen=True, slots=True)
class LayerWork:
    """One layer of one micro-batch.

    Parameters
    ----------
    micro_batch_size, sequence_length : float
        b and s of the whole sequence. [-, tokens]
    has_experts : bool
        Whether its MLP is a mixture.
    window_ratio : float
        Share of such layers that see only the architecture's window. [-]
    dropout : bool
        Whether activations and scores are dropped at random.
    """

    plan: ParallelismPlan
    micro_batch_size: float
    sequence_length: float
    has_experts: bool = False
    window_ratio: float = 0.0
    causal: bool = True
    dropout: bool = False

    @property
    def tokens(self) -> float:
        """Tokens that the GPU's tensor-parallel group works on: b s / c."""
        return self.micro_batch_size * self.sequence_length / self.plan.context_parallel_size


def expert_tokens(architecture: TransformerArchitecture, work: LayerWork) -> float:
    r"""Return how many token copies one GPU's experts work on, balanced.

    .. math:: n = \frac{b s}{c} \cdot \frac{t_e}{t} \cdot k

    Parameters
    ----------
    architecture : TransformerArchitecture
        k, experts of a token. [-]
    work : LayerWork
        b s / c tokens of a tensor-parallel group, which deals them over its t ranks.

    Source
    ------
    Definition: e t_e ranks hold b s / (c t) tokens each, sent to k experts, over e groups of experts.
    """
    moe, plan = architecture.moe, work.plan
    if moe is None:
        return 0.0
    return work.tokens * moe.top_k * plan.expert_tensor_parallel_size / plan.tensor_parallel_size
