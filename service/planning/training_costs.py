"""A scene's step, put together from the core's formulas: layers, stages, messages, what is exposed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from service.catalog.catalog import Catalog
from service.core.collectives.cost import Collective
from service.core.training.block import LayerSeconds, head_seconds, layer_seconds
from service.core.training.exposure import (
    TensorMessages,
    bucketed_exposed_seconds,
    context_exposed_seconds,
    exposed_seconds,
    gathered_layers_exposed_seconds,
    tensor_exposed_seconds,
)
from service.core.training.layer_work import LayerWork
from service.core.training.memory import StageParameters, stage_parameters
from service.core.training.offload import OffloadSeconds, offload_seconds
from service.core.training.parallelism import Sharding
from service.core.training.step_time import MicroBatchSeconds, StepSeconds, step_seconds, straggler_ratio
from service.core.transformer.activations import Recompute, SelectivePolicy
from service.planning.training_messages import Group, Groups, context_exchange, expert_exchange_seconds, groups_of
from service.planning.training_question import ContextCommunication, Framework, Offload
from service.planning.training_scene import Stage, TrainingScene

_HALF = 2.0
_BUCKET_PARAMETERS = 40_000_000  # Megatron-LM, distributed_data_parallel.py: max(40 million, 1 million a rank)
_BUCKET_PARAMETERS_PER_RANK = 1_000_000
_OPTIMIZER_PASSES = {12.0: 34.0, 8.0: 26.0}  # state of 12 bytes a parameter: read and written, gradient twice, weight


@dataclass(frozen=True, slots=True)
class Message:
    """One kind of message of a step, on the fullest GPU; field names are the API's."""

    what: str
    collective: str
    group: str
    count: float
    bytes_each: float
    seconds_each: float
    exposed_seconds: float

    @property
    def total_seconds(self) -> float:
        """All of them, each alone. [s]"""
        return self.count * self.seconds_each


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One kind of layer: its kernels, what its messages expose, and each message's (bytes, seconds)."""

    work: LayerWork
    seconds: LayerSeconds
    busy: MicroBatchSeconds
    tensor: TensorMessages
    context: tuple[Collective, float, float]
    expert: tuple[float, float]


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Everything a step's answer is made of."""

    step: StepSeconds
    slowest: int
    stage_seconds: tuple[MicroBatchSeconds, ...]
    parameters: tuple[StageParameters, ...]
    messages: tuple[Message, ...]
    dense: LayerCost | None
    experts: LayerCost | None
    groups: Groups
    data_seconds: float
    data_window_seconds: float
    offload: OffloadSeconds


def step_costs(scene: TrainingScene, catalog: Catalog) -> StepCosts:
    """Return a step's time by parts, and its messages."""
    groups = groups_of(scene, catalog)
    a = scene.model.architecture
    dense = _layer(scene, groups, catalog, has_experts=False) if any(s.dense_layers for s in scene.stages) else None
    has_experts = any(s.expert_layers for s in scene.stages) or (a.moe is not None and scene.stages[-1].mtp_layers > 0)
    experts = _layer(scene, groups, catalog, has_experts=True) if has_experts else None
    parameters = tuple(
        stage_parameters(
            a, scene.plan, s.dense_layers, s.expert_layers, first=s.first, last=s.last, mtp_layers=s.mtp_layers
        )
        for s in scene.stages
    )
    hop_bytes, hop = _hop(scene, groups)
    stages = tuple(_stage(scene, stage, dense, experts, hop) for stage in scene.stages)
    stages = tuple(_with_gathering(scene, groups, s, each) for s, each in zip(scene.stages, stages, strict=True))
    slowest = max(range(len(stages)), key=lambda i: stages[i].total)
    fullest = max(range(len(parameters)), key=lambda i: parameters[i].total)
    data, last_bucket, data_messages = _data_parallel(scene, groups, parameters[fullest])
    window = _data_window(scene, stages[fullest])
    data_exposed = _data_exposed(scene, data, last_bucket, window)
    drained = 2 * (scene.plan.pipeline_parallel_size - 1) * hop if hop else 0.0
    constants = scene.engines.constants
    calibration = catalog.training
    offload = offload_of(scene, parameters[fullest], stages[slowest])
    step = step_seconds(
        stages[slowest],
        sum(s.total for s in stages),
        scene.micro_batches,
        scene.plan.virtual_pipeline_size,
        pipeline_p2p=drained,
        data_parallel=data_exposed,
        optimizer=_optimizer(scene, parameters[fullest]) + offload.step_seconds,
        other=constants.step_seconds + scene.micro_batches * offload.micro_batch_seconds,
        straggler_ratio=straggler_ratio(
            scene.plan.gpus, calibration.straggler_ratio_per_doubling, calibration.straggler_gpus
        ),
    )
    messages = (
        *_layer_messages(scene, groups, dense, scene.stages[slowest].dense_layers),
        *_layer_messages(scene, groups, experts, scene.stages[slowest].expert_layers),
        *_hop_messages(scene, hop_bytes, hop, step.pipeline_p2p_exposed),
        *_shared(data_messages, step.data_parallel_exposed),
    )
    return StepCosts(
        step, slowest, stages, parameters, messages, dense, experts, groups,
        sum(m.total_seconds for m in data_messages), window, offload,
    )  # fmt: skip


def _layer(scene: TrainingScene, groups: Groups, catalog: Catalog, *, has_experts: bool) -> LayerCost:
    a, plan = scene.model.architecture, scene.plan
    slowdown = scene.engines.constants.overlap_slowdown_ratio
    local = a.num_local_attention_layers / a.num_layers
    work = LayerWork(
        plan, scene.micro_batch_size, scene.sequence_length, has_experts, local, scene.causal, scene.dropout
    )
    layer = layer_seconds(a, work, scene.engines)
    tensor = _tensor_messages(scene, groups.tensor, work)
    ahead, back = tensor_exposed_seconds(
        tensor,
        layer,
        overlapped=scene.overlap.tensor_parallel,
        hides_gradients=scene.framework is not Framework.DEEPSPEED,
        slowdown_ratio=slowdown,
    )
    context = context_exchange(scene, groups.context)
    ring = scene.context_communication is ContextCommunication.RING
    around, around_back = context_exposed_seconds(
        context[2], layer, hidden=ring, backward_exchanges=2.0 if ring else 1.0, slowdown_ratio=slowdown
    )
    expert = (0.0, 0.0)
    exchanged = 0.0
    if has_experts:
        mine = work.tokens / plan.tensor_parallel_size * plan.expert_tensor_parallel_size
        expert = expert_exchange_seconds(scene, groups.expert, mine, catalog)
        exchanged = 4 * expert[1]
        if scene.overlap.expert_parallel:
            exchanged = exposed_seconds(exchanged, layer.forward + layer.backward, slowdown)
    again, ahead_again = _recomputed(scene, layer, ahead + around, expert[1])
    busy = MicroBatchSeconds(
        layer.forward, layer.backward, again, ahead + back + ahead_again, around + around_back, exchanged
    )
    return LayerCost(work, layer, busy, tensor, context, expert)


def _recomputed(scene: TrainingScene, layer: LayerSeconds, messages: float, exchange: float) -> tuple[float, float]:
    """Return computing, and exposed messages, that the backward pass repeats of one layer, on average."""
    ratio = scene.recomputed_ratio
    if scene.recompute is Recompute.FULL:
        return ratio * layer.forward, ratio * (messages + 2 * exchange)
    if scene.recompute is Recompute.SELECTIVE:
        if scene.policy is SelectivePolicy.SCORES:
            return ratio * layer.attention_forward, 0.0
        if scene.policy is SelectivePolicy.NORMS_AND_ACTIVATIONS:
            return ratio * layer.element_wise_forward, 0.0
        return ratio * (layer.multiply_forward / 2 + layer.element_wise_forward), 0.0
    return 0.0, 0.0


def _tensor_messages(scene: TrainingScene, group: Group, work: LayerWork) -> TensorMessages:
    if group.ranks == 1:
        return TensorMessages()
    size = _HALF * work.tokens * scene.model.architecture.hidden_size
    if not scene.plan.sequence_parallel:
        return TensorMessages(group.seconds(Collective.ALL_REDUCE, size))
    return TensorMessages(
        0.0, group.seconds(Collective.ALL_GATHER, size), group.seconds(Collective.REDUCE_SCATTER, size)
    )


def _stage(
    scene: TrainingScene, stage: Stage, dense: LayerCost | None, experts: LayerCost | None, hop: float
) -> MicroBatchSeconds:
    total = MicroBatchSeconds()
    a = scene.model.architecture
    expert_layers = stage.expert_layers + (stage.mtp_layers if a.moe else 0)
    dense_layers = stage.dense_layers + (0 if a.moe else stage.mtp_layers)
    if dense is not None:
        total = total.plus(dense.busy, dense_layers)
    if experts is not None:
        total = total.plus(experts.busy, expert_layers)
    if stage.last:
        tokens = scene.micro_batch_size * scene.sequence_length / scene.plan.context_parallel_size
        forward, backward = head_seconds(a, tokens, scene.plan.tensor_parallel_size, scene.engines)
        heads = 1 + stage.mtp_layers
        total = total.plus(MicroBatchSeconds(heads * forward, heads * backward))
    if hop and not scene.overlap.pipeline:
        exchanges = 1 if stage.first or stage.last else 2  # with one neighbour, or with two
        total = total.plus(MicroBatchSeconds(pipeline_p2p_exposed=exchanges * scene.plan.virtual_pipeline_size * hop))
    return total


def _hop(scene: TrainingScene, groups: Groups) -> tuple[float, float]:
    plan = scene.plan
    tokens = scene.micro_batch_size * scene.sequence_length / plan.context_parallel_size
    size = _HALF * tokens * scene.model.architecture.hidden_size / plan.tensor_parallel_size
    return size, groups.neighbours.seconds(Collective.SEND_RECV, size)


def _with_gathering(scene: TrainingScene, groups: Groups, stage: Stage, busy: MicroBatchSeconds) -> MicroBatchSeconds:
    """Add what gathering layers for every micro-batch exposes (ZeRO-3, FSDP)."""
    layers = stage.layers
    if not scene.gathers or not layers or groups.shard.ranks == 1:
        return busy
    a, plan = scene.model.architecture, scene.plan
    held = stage_parameters(a, plan, stage.dense_layers, stage.expert_layers, first=stage.first, last=stage.last)
    each = held.dense / layers
    gather = groups.shard.seconds(Collective.ALL_GATHER, _HALF * each)
    wire = scene.gradient_reduce_dtype
    scatter = groups.shard.seconds(Collective.REDUCE_SCATTER, wire.size_bytes * each, wire)
    if groups.repeats.ranks > 1:
        scatter += groups.repeats.seconds(Collective.ALL_REDUCE, wire.size_bytes * each / groups.shard.ranks, wire)
    exposed = gathered_layers_exposed_seconds(
        gather,
        scatter,
        busy.forward_compute / layers,
        (busy.backward_compute + busy.recompute) / layers,
        layers,
        slowdown_ratio=scene.engines.constants.overlap_slowdown_ratio,
        keeps_gathered=False,
        scatters=True,
    )
    return busy.plus(MicroBatchSeconds(data_parallel_exposed=exposed))


def _data_parallel(
    scene: TrainingScene, groups: Groups, held: StageParameters
) -> tuple[tuple[float, float], tuple[float, float], tuple[Message, ...]]:
    """Return (reducing, gathering), the last bucket of each, and the messages; all once a step."""
    wire = scene.gradient_reduce_dtype
    reduce = gather = last_reduce = first_gather = 0.0
    messages = []
    kinds = ((groups.data, held.dense, not scene.gathers), (groups.expert_data, held.experts, True))
    for group, parameters, once in kinds:
        if group.ranks == 1 or not parameters:
            continue
        if not once:
            messages += list(_gathered_messages(scene, groups, parameters))
            continue
        size = wire.size_bytes * parameters
        ratio = min(1.0, max(_BUCKET_PARAMETERS, _BUCKET_PARAMETERS_PER_RANK * group.ranks) / parameters)
        if scene.shards_gradients and scene.framework is Framework.DEEPSPEED and scene.plan.sharding is Sharding.ZERO1:
            # stage 1 sums whole buckets on every rank, and gathers the updated weights
            one, two = (
                group.seconds(Collective.ALL_REDUCE, size, wire),
                group.seconds(Collective.ALL_GATHER, _HALF * parameters),
            )
            messages.append(Message("gradients", "all_reduce", group.name, 1, size, one, 0.0))
            messages.append(Message("parameters", "all_gather", group.name, 1, _HALF * parameters, two, 0.0))
        elif scene.shards_gradients:
            one, two = (
                group.seconds(Collective.REDUCE_SCATTER, size, wire),
                group.seconds(Collective.ALL_GATHER, _HALF * parameters),
            )
            messages.append(Message("gradients", "reduce_scatter", group.name, 1, size, one, 0.0))
            messages.append(Message("parameters", "all_gather", group.name, 1, _HALF * parameters, two, 0.0))
        else:
            one, two = group.seconds(Collective.ALL_REDUCE, size, wire), 0.0
            messages.append(Message("gradients", "all_reduce", group.name, 1, size, one, 0.0))
        reduce, gather = reduce + one, gather + two
        last_reduce, first_gather = last_reduce + ratio * one, first_gather + ratio * two
    return (reduce, gather), (last_reduce, first_gather), tuple(messages)


def _gathered_messages(scene: TrainingScene, groups: Groups, parameters: float) -> Iterator[Message]:
    layers = max(stage.layers for stage in scene.stages)
    each, wire = parameters / layers, scene.gradient_reduce_dtype
    count, shard = layers * scene.micro_batches, groups.shard
    gather = shard.seconds(Collective.ALL_GATHER, _HALF * each)
    scatter = shard.seconds(Collective.REDUCE_SCATTER, wire.size_bytes * each, wire)
    yield Message("parameters", "all_gather", shard.name, 2 * count, _HALF * each, gather, 0.0)
    yield Message("gradients", "reduce_scatter", shard.name, count, wire.size_bytes * each, scatter, 0.0)
    if groups.repeats.ranks > 1:
        size = wire.size_bytes * each / shard.ranks
        seconds = groups.repeats.seconds(Collective.ALL_REDUCE, size, wire)
        yield Message("gradients", "all_reduce", groups.repeats.name, count, size, seconds, 0.0)


def _data_window(scene: TrainingScene, busy: MicroBatchSeconds) -> float:
    """Return the computing that gradients can hide behind: the last backward passes; with chunks, of several."""
    v, p = scene.plan.virtual_pipeline_size, scene.plan.pipeline_parallel_size
    passes = max(1.0, min(scene.micro_batches, p) * (v - 1) / v)
    return passes * (busy.backward_compute + busy.recompute)


def _data_exposed(scene: TrainingScene, data: tuple[float, float], last: tuple[float, float], window: float) -> float:
    slowdown = scene.engines.constants.overlap_slowdown_ratio
    reduce = data[0]
    if scene.overlap.gradient_reduce:
        reduce = bucketed_exposed_seconds(data[0], last[0], window, slowdown)
    gather = data[1]
    if scene.overlap.parameter_gather:
        gather = bucketed_exposed_seconds(data[1], last[1], window / 2, slowdown)  # forward passes take half as long
    return reduce + gather


def _optimizer(scene: TrainingScene, held: StageParameters) -> float:
    """Return the update's memory traffic on this GPU's part of the states, and the casts of weights for a step."""
    if scene.offload is Offload.OPTIMIZER:
        return 0.0
    plan = scene.plan
    dense, experts = plan.sharding_ranks(plan.replicas), plan.sharding_ranks(plan.expert_replicas)
    mine = held.dense / dense + held.experts / experts
    state = state_bytes(scene)[2]
    moved = _OPTIMIZER_PASSES.get(state, 2 * state + 10.0) * mine
    if scene.engines.cast_bytes:
        moved += scene.engines.cast_bytes * held.total
    return moved / scene.engines.memory_bytes_per_second


def state_bytes(scene: TrainingScene) -> tuple[float, float, float]:
    """Return bytes of a parameter, its gradient and its optimizer states; DeepSpeed and FSDP differ from Megatron."""
    optimizer = {"adamw": 12.0, "adamw_bf16_moments": 8.0, "muon": 8.0, "sgd": 8.0}[scene.optimizer]
    if scene.framework is Framework.FSDP:
        return _HALF, 4.0, optimizer
    gradient = 4.0 if scene.gradient_reduce_dtype.size_bytes == 4 else _HALF
    return _HALF, gradient, optimizer


def offload_of(scene: TrainingScene, held: StageParameters, busy: MicroBatchSeconds) -> OffloadSeconds:
    """Return what moving states to the host and back exposes."""
    plan = scene.plan
    shards = plan.sharding_ranks(plan.replicas)
    return offload_seconds(
        str(scene.offload),
        held.total,
        held.dense / shards + held.experts / plan.sharding_ranks(plan.expert_replicas),
        busy.forward_compute,
        busy.backward_compute + busy.recompute,
        scene.system.accelerator.host_link_bytes_per_second or 0.0,
        scene.system.gpus_per_node,
    )


def _layer_messages(scene: TrainingScene, groups: Groups, cost: LayerCost | None, layers: int) -> Iterator[Message]:
    if cost is None or not layers:
        return
    plan, m = scene.plan, scene.micro_batches * layers
    size = _HALF * cost.work.tokens * scene.model.architecture.hidden_size
    again = 1 + (scene.recomputed_ratio / 2 if scene.recompute is Recompute.FULL else 0.0)
    kind = "expert layers" if cost.work.has_experts else "layers"
    exposed = cost.busy.tensor_parallel_exposed * m
    if cost.tensor.all_reduce:
        yield Message(
            f"activations of {kind}", "all_reduce", "tensor_parallel", 4 * m * again, size, cost.tensor.all_reduce,
            exposed,
        )  # fmt: skip
    elif cost.tensor.gather:
        for name, each, share, count in (
            ("all_gather", cost.tensor.gather, 0.5, 6 * m * again),
            ("reduce_scatter", cost.tensor.scatter, 0.5, 4 * m * again),
        ):
            yield Message(f"activations of {kind}", name, "tensor_parallel", count, size, each, share * exposed)
    if plan.context_parallel_size > 1:
        collective, size, seconds = cost.context
        yield Message(
            "keys and values", str(collective), "context_parallel", 3 * m, size, seconds,
            cost.busy.context_parallel_exposed * m,
        )  # fmt: skip
    if cost.expert[1]:
        yield Message(
            "tokens to experts and back", "all_to_all", groups.expert.name, 4 * m * again, cost.expert[0],
            cost.expert[1], cost.busy.expert_parallel_exposed * m,
        )  # fmt: skip


def _hop_messages(scene: TrainingScene, size: float, hop: float, exposed: float) -> Iterator[Message]:
    if hop:
        count = 2 * scene.micro_batches * scene.plan.virtual_pipeline_size
        yield Message("activations between stages", "send_recv", "pipeline_parallel", count, size, hop, exposed)


def _shared(messages: tuple[Message, ...], exposed: float) -> Iterator[Message]:
    """Deal the exposed time over messages in proportion to how long they take."""
    total = sum(m.total_seconds for m in messages)
    for m in messages:
        part = exposed * m.total_seconds / total if total else 0.0
        yield Message(m.what, m.collective, m.group, m.count, m.bytes_each, m.seconds_each, part)
