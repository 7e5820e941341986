"""Number formats and how many bytes an element takes."""

from __future__ import annotations

from enum import StrEnum


class Dtype(StrEnum):
    """Element type of a buffer on the wire."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def size_bytes(self) -> int:
        """Bytes of one element. [B]"""
        return _SIZE_BYTES[self]

    @property
    def is_floating(self) -> bool:
        """Whether sums of it are floating-point sums."""
        return self is not Dtype.INT8


_SIZE_BYTES = {Dtype.FP32: 4, Dtype.FP16: 2, Dtype.BF16: 2, Dtype.FP8: 1, Dtype.INT8: 1}
