"""Memory of one GPU in training: parameters, gradients, optimizer states, activations and what frameworks add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.training.parallelism import ParallelismPlan, Sharding
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.parameters import (
    attention_parameters,
    expert_parameters,
    mlp_parameters,
    parameter_terms,
)

_UNSHARDED_LAYERS = 2  # the one in use and the one that is gathered ahead


@dataclass(frozen=True, slots=True)
class StateBytes:
    """What each parameter takes. [B]

    Parameters
    ----------
    parameter : float
        As the layers compute with it.
    gradient : float
        As it is added up.
    optimizer : float
        Copies in 4 bytes and moments, all together: 12 for Adam in mixed precision.
    """

    parameter: float = 2.0
    gradient: float = 4.0
    optimizer: float = 12.0


@dataclass(frozen=True, slots=True)
class StageParameters:
    """Parameters that one GPU of a stage holds before data parallelism divides them.

    Parameters
    ----------
    dense : float
        Everything but the routed experts. [-]
    experts : float
        Routed experts. [-]
    largest_layer : float
        The layer that has most, as it is gathered. [-]
    """

    dense: float
    experts: float
    largest_layer: float

    @property
    def total(self) -> float:
        """Both."""
        return self.dense + self.experts


@dataclass(frozen=True, slots=True)
class ModelStates:
    """Parameters, gradients and optimizer states on one GPU. [B]"""

    parameters_bytes: float
    gradients_bytes: float
    optimizer_bytes: float

    @property
    def total_bytes(self) -> float:
        """All three."""
        return self.parameters_bytes + self.gradients_bytes + self.optimizer_bytes


def stage_parameters(
    architecture: TransformerArchitecture,
    plan: ParallelismPlan,
    dense_layers: float,
    expert_layers: float,
    *,
    first: bool,
    last: bool,
    mtp_layers: int = 0,
) -> StageParameters:
    r"""Return the parameters of one GPU of a stage.

    .. math:: N' = \frac{l N_{layer} + V h [\text{first}] + V h [\text{last}]}{t} + \frac{l_m E N_{expert}}{e t_e}

    Norms, routers and biases of the row-parallel matrices are whole on every rank; they are counted as divided, which
    is below a thousandth.

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    plan : ParallelismPlan
        t, e and t_e.
    dense_layers, expert_layers : float
        Layers of the stage with a dense MLP, and with experts. [-]
    first, last : bool
        Whether it has the embedding, the output head; a tied table is on both.
    mtp_layers : int
        Multi-token-prediction modules on the stage.

    Source
    ------
    Shoeybi et al., arXiv:1909.08053, section 3. Definition of the shape's tensors: `service.core.transformer`.
    """
    a, terms = architecture, parameter_terms(architecture)
    t, moe = plan.tensor_parallel_size, a.moe
    norms = a.norms_per_layer * a.norm.num_vectors * a.hidden_size
    each = attention_parameters(a) + norms
    dense_mlp = mlp_parameters(a, a.ffn_hidden_size) if a.ffn_hidden_size else 0
    routed = moe.num_experts * expert_parameters(a) if moe else 0
    beside = a.hidden_size * moe.num_experts + moe.num_shared_experts * expert_parameters(a) if moe else 0
    with_experts = expert_layers + (mtp_layers if moe else 0)
    without = dense_layers + (0 if moe else mtp_layers)
    dense = (dense_layers + expert_layers + mtp_layers) * each + without * dense_mlp + with_experts * beside
    dense += 2 * mtp_layers * a.hidden_size * a.hidden_size
    if first:
        dense += terms["word_embedding"] + terms["position_embedding"] + terms["embedding_norm"]
    if last:
        dense += terms["output_head"] + terms["final_norm"] + terms["embedding_projections"]
        if a.tie_embeddings and not first:
            dense += terms["word_embedding"]
    cut = plan.expert_parallel_size * plan.expert_tensor_parallel_size
    largest = (each + dense_mlp) / t if dense_layers else 0.0
    if expert_layers:
        largest = max(largest, (each + beside) / t + routed / cut)
    return StageParameters(dense / t, with_experts * routed / cut, largest)


def model_states(parameters: StageParameters, plan: ParallelismPlan, state: StateBytes) -> ModelStates:
    r"""Return parameters, gradients and optimizer states of one GPU by sharding.

    .. math:: M = 2 N' + g N' + 12 N' \;\text{(none)}, \quad 2 N' + g N' + \frac{12 N'}{d} \;\text{(ZeRO-1)}, \quad
        2 N' + \frac{(g + 12) N'}{d} \;\text{(ZeRO-2)}, \quad \frac{(2 + g + 12) N'}{d} + 2 \cdot 2 N_{layer} \;
        \text{(ZeRO-3)}

    Dense parameters divide by their c d replicas, experts by theirs, t c d / (e t_e).

    Parameters
    ----------
    parameters : StageParameters
        N' of the stage.
    plan : ParallelismPlan
        Sharding, and how many replicas there are.
    state : StateBytes
        Bytes of each parameter: 2, g and 12 above.

    Source
    ------
    Rajbhandari et al., "ZeRO", arXiv:1910.02054, figure 1; Megatron-LM issue 654 for fp32 gradients: 18, or 6 + 12/d.
    """
    dense, experts = plan.sharding_ranks(plan.replicas), plan.sharding_ranks(plan.expert_replicas)

    def divided(each: float, shards: bool) -> float:
        if not shards:
            return each * parameters.total
        return each * (parameters.dense / dense + parameters.experts / experts)

    sharding = plan.sharding
    gathers = sharding.gathers_parameters
    unsharded = _UNSHARDED_LAYERS * state.parameter * parameters.largest_layer if gathers else 0.0
    return ModelStates(
        divided(state.parameter, gathers) + unsharded,
        divided(state.gradient, gathers or sharding is Sharding.ZERO2),
        divided(state.optimizer, sharding is not Sharding.NONE),
    )


def logits_bytes(tokens: float, vocab_size: float, tensor_parallel_size: float, *, half_copy: bool) -> float:
    r"""Return what the loss keeps: logits and their softmax in 4 bytes, and a copy in 2 where nothing fuses it.

    .. math:: M = \frac{(4 + 2) T V}{t}

    Parameters
    ----------
    tokens : float
        T, of one micro-batch. [tokens]
    vocab_size : float
        V. [-]
    tensor_parallel_size : float
        t. [-]
    half_copy : bool
        Whether logits stay in 16 bits beside.

    Source
    ------
    Korthikanti et al., arXiv:2205.05198, section 4.3: 4 s b v / t.
    """
    return (4.0 + (2.0 if half_copy else 0.0)) * tokens * vocab_size / tensor_parallel_size


def zero_bytes_per_parameter(plan: ParallelismPlan, state: StateBytes) -> Mapping[str, float]:
    r"""Return what one parameter takes on one GPU, the gathered layers of ZeRO-3 left out.

    .. math:: 18, \quad 6 + 12 / d, \quad \ldots

    Parameters
    ----------
    plan : ParallelismPlan
        Sharding and replicas.
    state : StateBytes
        Bytes of each parameter.

    Source
    ------
    As `model_states`.
    """
    states = model_states(StageParameters(1.0, 0.0, 0.0), plan, state)
    return {
        "parameters": states.parameters_bytes,
        "gradients": states.gradients_bytes,
        "optimizer": states.optimizer_bytes,
    }
