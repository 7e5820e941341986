"""From names resolved to what times a step: matrices, kernels, all-reduces, the experts' exchange."""

from __future__ import annotations

from collections.abc import Callable

from service.catalog.catalog import Catalog
from service.core.collectives.algorithms import candidates, chosen
from service.core.collectives.cost import Collective
from service.core.collectives.custom_all_reduce import framework_all_reduce
from service.core.hardware import System
from service.core.inference.step import Replica
from service.core.inference.weights import WeightDtype, quantised_terms
from service.core.numerics import Dtype
from service.core.placement import place
from service.core.transformer.matrices import dense_matrices, expert_matrices, output_head
from service.planning.inference_question import InferenceQuestion, ServingScene

_HALF_FORMAT = {WeightDtype.FP16: "fp16"}
_WEIGHT_ONLY = {WeightDtype.INT4: "int4_weight_only"}
_WIRE_BYTES = 2


def replica_of(question: InferenceQuestion, scene: ServingScene, catalog: Catalog) -> Replica:
    """Return the replica with everything that times its steps."""
    a, dtype, layout = scene.model.architecture, question.weight_dtype, scene.layout
    kernels = catalog.kernels.for_accelerator(scene.system.accelerator)
    library = "" if question.engine == "generic" else question.engine
    narrow_cache = str(scene.kv_dtype)
    return Replica(
        architecture=a,
        layout=layout,
        engine=catalog.calibrations.engines.engines[question.engine],
        dense=tuple(dense_matrices(a, layout.tensor_parallel_size)),
        experts=tuple(expert_matrices(a, layout.expert_parallel_size, layout.expert_tensor_parallel_size)),
        head=output_head(a, layout.tensor_parallel_size),
        quantised_terms=quantised_terms(a, dtype),
        quantised=kernels.gemm(_gemm_format(question), library),
        half=kernels.gemm(_HALF_FORMAT.get(dtype, "bf16"), library),
        attention=kernels.attention("bf16", library),
        decode=kernels.decode_attention(narrow_cache, library),
        memory_bound=kernels.memory_bound,
        memory_bandwidth_bytes_per_second=scene.system.accelerator.memory_bandwidth_bytes_per_second,
        all_reduce_seconds=_all_reduce(scene.system, layout.tensor_parallel_size, question.engine, catalog),
        exchange_seconds=_exchange(scene, catalog) if layout.attention_data_parallel_size > 1 else None,
    )


def _gemm_format(question: InferenceQuestion) -> str:
    dtype = question.weight_dtype
    if dtype is WeightDtype.FP8 and question.weight_group_size:
        return "fp8_block"
    return _WEIGHT_ONLY.get(dtype, str(dtype))


def _all_reduce(system: System, num_ranks: int, engine: str, catalog: Catalog) -> Callable[[float, bool], float]:
    if num_ranks == 1:
        return lambda size_bytes, graph: 0.0
    calibrations = catalog.calibrations
    path = calibrations.collective_path(system, place(system, num_ranks))
    framework = calibrations.custom_all_reduce.kernels("vllm" if engine == "generic" else engine, system)

    def seconds(size_bytes: float, graph: bool) -> float:
        return framework_all_reduce(framework, Dtype.BF16, num_ranks, size_bytes, path, graph=graph).seconds

    return seconds


def _exchange(scene: ServingScene, catalog: Catalog) -> Callable[[float], float]:
    """Dispatch and combine: each token goes to its experts' GPUs and comes back."""
    a, ranks = scene.model.architecture, scene.layout.stage_gpus
    path = catalog.calibrations.collective_path(scene.system, place(scene.system, ranks))
    copies = min(a.moe.top_k, ranks) if a.moe else 1

    def seconds(tokens: float) -> float:
        size = max(ranks, int(tokens * copies * a.hidden_size * _WIRE_BYTES))
        cost = chosen(candidates(Collective.ALL_TO_ALL, Dtype.BF16, ranks, size, path)).cost
        return 2 * cost.seconds if cost else 0.0

    return seconds
