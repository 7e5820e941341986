"""Number formats of a matrix multiplication: what an element takes, and which peak it runs at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class GemmFormat:
    """One way to multiply.

    Parameters
    ----------
    activation_bytes, weight_bytes, output_bytes : float
        Of an element, with its part of a block's scale. [B]
    peaks : tuple[str, ...]
        Names of the accelerator's dense peaks that it runs at, the first there is.
    stands_for : tuple[str, ...]
        Formats whose constants stand in, the first that is measured.
    """

    activation_bytes: float
    weight_bytes: float
    output_bytes: float
    peaks: tuple[str, ...]
    stands_for: tuple[str, ...] = ()


_HALF = ("bf16", "fp16")

# Scales: FP8 blocks one fp32 for 128 activations; NVFP4 one byte for 16; MXFP4 one byte for 32; INT4 one fp16 for 128.
GEMM_FORMATS: Mapping[str, GemmFormat] = MappingProxyType(
    {
        "bf16": GemmFormat(2.0, 2.0, 2.0, _HALF),
        "fp16": GemmFormat(2.0, 2.0, 2.0, ("fp16", "bf16"), ("bf16",)),
        "tf32": GemmFormat(4.0, 4.0, 4.0, ("tf32", "fp32"), ("bf16",)),
        "fp8": GemmFormat(1.0, 1.0, 2.0, ("fp8",), ("bf16",)),
        "fp8_block": GemmFormat(1.03125, 1.0, 2.0, ("fp8",), ("fp8", "bf16")),
        "int8": GemmFormat(1.0, 1.0, 2.0, ("int8",), ("fp8", "bf16")),
        "nvfp4": GemmFormat(0.5625, 0.5625, 2.0, ("fp4",), ("bf16",)),
        "mxfp4": GemmFormat(0.53125, 0.53125, 2.0, ("fp4",), ("nvfp4", "bf16")),
        "fp8_weight_only": GemmFormat(2.0, 1.0, 2.0, _HALF, ("bf16",)),
        "int8_weight_only": GemmFormat(2.0, 1.0, 2.0, _HALF, ("bf16",)),
        "int4_weight_only": GemmFormat(2.0, 0.515625, 2.0, _HALF, ("bf16",)),
        "fp4_weight_only": GemmFormat(2.0, 0.5625, 2.0, _HALF, ("bf16",)),
    }
)


def weight_only(gemm_format: GemmFormat) -> GemmFormat:
    """Return how weights of a format are used where the hardware cannot multiply in it: turned into 16 bit on the way.

    Parameters
    ----------
    gemm_format : GemmFormat
        What the weights are stored in; their bytes stay.

    Source
    ------
    IST-DASLab/marlin: weights of 4 and 8 bit are widened in registers and multiplied in 16 bit.
    """
    return GemmFormat(2.0, gemm_format.weight_bytes, 2.0, _HALF, ("bf16",))
