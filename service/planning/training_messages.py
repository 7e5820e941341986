"""The messages of a training step: each group's placement, each message's size, and what it takes alone."""

from __future__ import annotations

from dataclasses import dataclass

from service.catalog.catalog import Catalog
from service.core.collectives.algorithms import candidates, chosen
from service.core.collectives.cost import Collective
from service.core.collectives.expert_exchange import ExpertTraffic, exchange, ranks_reached
from service.core.collectives.path import CollectivePath
from service.core.numerics import Dtype
from service.core.placement import Placement
from service.core.training.parallelism import group_placement
from service.planning.training_question import ContextCommunication, ExpertDispatcher
from service.planning.training_scene import TrainingScene

_HALF = 2.0  # activations travel in 16 bits


@dataclass(frozen=True, slots=True)
class Group:
    """A kind of parallelism's group on the hardware: its ranks, and the way between them."""

    name: str
    placement: Placement
    path: CollectivePath | None

    @property
    def ranks(self) -> int:
        """How many."""
        return self.placement.num_ranks

    def seconds(self, collective: Collective, size_bytes: float, dtype: Dtype = Dtype.BF16) -> float:
        """Return how long a collective of the group takes alone. [s]"""
        if self.path is None or size_bytes <= 0 or self.ranks == 1:
            return 0.0
        cost = chosen(candidates(collective, dtype, self.ranks, size_bytes, self.path)).cost
        return cost.seconds if cost else 0.0


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups of a plan."""

    tensor: Group
    context: Group
    expert: Group
    data: Group
    expert_data: Group
    neighbours: Group
    shard: Group
    repeats: Group


def groups_of(scene: TrainingScene, catalog: Catalog) -> Groups:
    """Return every group of the scene's plan, ranks laid out tensor first, then context, data and pipeline."""
    plan, system = scene.plan, scene.system
    t, c = plan.tensor_parallel_size, plan.context_parallel_size
    experts = plan.expert_parallel_size * plan.expert_tensor_parallel_size
    shard = plan.sharding_ranks(plan.replicas)

    def group(name: str, size: int, stride: int) -> Group:
        placement = group_placement(size, stride, system.gpus_per_node, system.scale_up.domain_gpus)
        path = catalog.calibrations.collective_path(system, placement) if size > 1 else None
        return Group(name, placement, path)

    pipeline = group_placement(
        plan.pipeline_parallel_size, plan.stage_gpus, system.gpus_per_node, system.scale_up.domain_gpus
    )
    together = pipeline.num_domains == 1
    neighbours = Placement(2, 2 if pipeline.num_nodes == 1 else 1, 2 if together else 1)
    hop = catalog.calibrations.collective_path(system, neighbours) if plan.pipeline_parallel_size > 1 else None
    return Groups(
        tensor=group("tensor_parallel", t, 1),
        context=group("context_parallel", c, t),
        expert=group("expert_parallel", plan.expert_parallel_size, plan.expert_tensor_parallel_size),
        data=group("data_parallel", plan.replicas, t),
        expert_data=group("expert_data_parallel", plan.expert_replicas, experts),
        neighbours=Group("pipeline_parallel", neighbours, hop),
        shard=group("sharding", shard, t),
        repeats=group("sharding_repeats", plan.replicas // shard, t * shard),
    )


def context_exchange(scene: TrainingScene, group: Group) -> tuple[Collective, float, float]:
    """Return what one layer's forward pass sends over the context-parallel group: collective, bytes, seconds.

    A ring passes keys and values from rank to rank, as an all-gather does; Ulysses deals heads by four all-to-alls.
    """
    a, plan = scene.model.architecture, scene.plan
    if group.ranks == 1:
        return Collective.ALL_GATHER, 0.0, 0.0
    t = plan.tensor_parallel_size
    tokens = scene.micro_batch_size * scene.sequence_length
    if scene.context_communication is ContextCommunication.ULYSSES:
        size = _HALF * tokens / plan.context_parallel_size * a.hidden_size / t
        return Collective.ALL_TO_ALL, size, 4 * group.seconds(Collective.ALL_TO_ALL, size)
    values = a.mla.v_head_dim if a.mla else a.head_dim
    kv_heads = a.num_attention_heads / t if a.mla else max(1.0, a.num_key_value_heads / t)
    size = _HALF * tokens * kv_heads * (a.head_dim + values)
    return Collective.ALL_GATHER, size, group.seconds(Collective.ALL_GATHER, size)


def expert_exchange_seconds(scene: TrainingScene, group: Group, tokens: float, catalog: Catalog) -> tuple[float, float]:
    """Return bytes and seconds of one dispatch (or combine) of some tokens of one GPU over the expert group.

    DeepEP sends a token once to each rank that has any of its experts, and through the network once to each domain;
    a plain all-to-all sends it once to each expert.
    """
    moe = scene.model.architecture.moe
    if moe is None or group.ranks == 1 or group.path is None:
        return 0.0, 0.0
    token_bytes = _HALF * scene.model.architecture.hidden_size
    if scene.expert_dispatcher is ExpertDispatcher.ALL_TO_ALL:
        size = tokens * moe.top_k * token_bytes
        return size, group.seconds(Collective.ALL_TO_ALL, size)
    n, placement = group.ranks, group.placement
    copies = ranks_reached(moe.num_experts, moe.top_k, n) * (n - 1) / n
    domains = placement.num_domains
    far = ranks_reached(moe.num_experts, moe.top_k, domains) * (domains - 1) / domains if domains > 1 else 0.0
    traffic = ExpertTraffic(copies + far, far, token_bytes, round(tokens))
    line = group.path.fabric.line_bytes_per_second if group.path.fabric else 0.0
    constants = catalog.training.exchange
    cost = exchange(traffic, constants, group.path.bandwidth_bytes_per_second, line, 0)
    return token_bytes * tokens * (copies + far), cost.seconds
