"""The kernels of a training step: which engine multiplies what in which format, by whose library."""

from __future__ import annotations

from dataclasses import replace

from service.catalog.catalog import Catalog
from service.core.hardware import Accelerator
from service.core.kernels.gemm import GemmEngine
from service.core.training.block import TrainingEngines
from service.planning.training_question import AttentionKernel, Framework, TrainingPrecision

_GEMM_FORMAT = {
    TrainingPrecision.BF16: "bf16",
    TrainingPrecision.FP16: "fp16",
    TrainingPrecision.FP8: "fp8",
    TrainingPrecision.MXFP8: "fp8",
    TrainingPrecision.FP4: "nvfp4",
}
# Per element of an input: read for the largest value, read to scale, written along rows and along columns.
_CAST_BYTES = {
    TrainingPrecision.BF16: 0.0,
    TrainingPrecision.FP16: 0.0,
    TrainingPrecision.FP8: 6.0,
    TrainingPrecision.MXFP8: 4.0,  # a block is scaled as it is read
    TrainingPrecision.FP4: 8.0,  # a rotation before, to spread outliers, and twice the columns' work
}
_ACCUMULATED_BYTES = 8.0  # a gradient in 4 bytes is read and written
_ATTENTION_LIBRARY = {
    (Framework.FSDP, "hopper"): "flash_attention_2",
    (Framework.MEGATRON, "hopper"): "flash_attention_3",
    (Framework.DEEPSPEED, "hopper"): "flash_attention_2",
}


def framework_class(framework: Framework) -> str:
    """Return whose constants a framework has: DeepSpeed trains Megatron's layers."""
    return "fsdp" if framework is Framework.FSDP else "megatron"


def training_engines(
    accelerator: Accelerator, precision: TrainingPrecision, attention: AttentionKernel, framework: Framework,
    cuda_graphs: bool, catalog: Catalog,
) -> TrainingEngines:  # fmt: skip
    """Return what multiplies and moves bytes on an accelerator in a precision."""
    kernels = catalog.kernels.for_accelerator(accelerator)
    half_format = "fp16" if precision is TrainingPrecision.FP16 else "bf16"
    one, half = kernels.gemm(_GEMM_FORMAT[precision]), kernels.gemm(half_format)
    generation = catalog.training.generation(accelerator.architecture)
    library = _ATTENTION_LIBRARY.get((framework, generation), "flash_attention_2" if generation == "ampere" else "")
    return TrainingEngines(
        forward=one,
        weight_gradient=_accumulating(one),
        half=half,
        half_weight_gradient=_accumulating(half),
        attention=kernels.attention("bf16", library) if attention is AttentionKernel.FLASH else None,
        sustained_ratio=kernels.sustained_ratio,
        cast_bytes=_CAST_BYTES[precision],
        memory_bytes_per_second=accelerator.memory_bandwidth_bytes_per_second * kernels.memory_bound.memory_ratio,
        constants=catalog.training.constants(accelerator.architecture, framework_class(framework)),
        cuda_graphs=cuda_graphs,
    )


def _accumulating(engine: GemmEngine) -> GemmEngine:
    return replace(engine, output_bytes=_ACCUMULATED_BYTES)
