"""The measured kernels of validation/kernel_*.csv, and what the model says of each."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from service.catalog.kernel_calibrations import KernelCalibration
from service.core.kernels.attention import decode_attention_seconds, flash_attention_seconds
from service.core.kernels.gemm import gemm_seconds

FOLDER = Path(__file__).parent
FLASH_ATTENTION_TOKENS = 16384  # of all sequences together, and a hidden size of 2048: that repository's benchmark
FLASH_ATTENTION_HIDDEN = 2048


@dataclass(frozen=True, slots=True)
class KernelPoint:
    """One measured kernel.

    Parameters
    ----------
    kernel : str
        gemm, prefill_attention, decode_attention.
    shape : tuple[int, ...]
        m, n, k; or batch, tokens, heads, kv heads, head dim.
    size : float
        What its residual is sorted by: m, tokens, bytes of the cache.
    passes : str
        Of attention: forward, forward_backward.
    """

    kernel: str
    accelerator: str
    library: str
    number_format: str
    shape: tuple[int, ...]
    size: float
    seconds: float
    causal: bool = True
    passes: str = "forward"

    @property
    def library_name(self) -> str:
        """Library without its version."""
        return self.library.partition("/")[0]

    def predicted_seconds(self, calibration: KernelCalibration, library: str) -> float:
        """Return what the model says."""
        if self.kernel == "gemm":
            m, n, k = self.shape
            return gemm_seconds(m, n, k, calibration.gemm(self.number_format, library))
        batch, tokens, heads, kv_heads, head_dim = self.shape
        if self.kernel == "decode_attention":
            engine = calibration.decode_attention(self.number_format, library)
            return decode_attention_seconds(batch, tokens, heads, kv_heads, head_dim, engine)
        attention = calibration.attention(self.number_format, library)
        return sum(
            flash_attention_seconds(
                batch, tokens, heads, kv_heads, head_dim, attention, causal=self.causal, backward=backward
            )
            for backward in (False, True)[: 2 if self.passes == "forward_backward" else 1]
        )


def gemm_points() -> list[KernelPoint]:
    """Return matrix multiplications with static scales: what dynamic scaling cost is taken off where it was timed."""
    return [
        KernelPoint(
            "gemm",
            row["accelerator"],
            row["library"],
            row["format"],
            (int(row["m"]), int(row["n"]), int(row["k"])),
            int(row["m"]),
            float(row["seconds"]) - float(row["compute_scale_seconds"] or 0),
        )
        for row in _rows("kernel_gemm.csv")
    ]


def serving_attention_points() -> list[KernelPoint]:
    """Return attention as serving engines run it, doubted rows left out, and those whose formats are mixed in prefill.

    A prefill row with 16-bit queries and an FP8 cache does not say which of the two peaks its products ran at.
    """
    points = []
    for row in _rows("kernel_attention.csv"):
        prefill = row["phase"] == "prefill"
        if row["suspect"] or (prefill and row["format"] != row["kv_format"]):
            continue
        keys = ("batch_size", "tokens", "num_heads", "num_kv_heads", "head_dim")
        batch, tokens, heads, kv_heads, head_dim = (int(row[key]) for key in keys)
        cache_bytes = 2 * batch * tokens * kv_heads * head_dim * (1 if row["kv_format"] == "fp8" else 2)
        points.append(
            KernelPoint(
                f"{row['phase']}_attention",
                row["accelerator"],
                row["library"],
                row["kv_format"],
                (batch, tokens, heads, kv_heads, head_dim),
                tokens if prefill else cache_bytes,
                float(row["seconds"]),
            )
        )
    return points


def flash_attention_points() -> list[KernelPoint]:
    """Return the published rates of the flash-attention repository as times."""
    points = []
    for row in _rows("kernel_flash_attention.csv"):
        tokens, head_dim, causal = int(row["tokens"]), int(row["head_dim"]), row["causal"] == "yes"
        batch, heads = FLASH_ATTENTION_TOKENS // tokens, FLASH_ATTENTION_HIDDEN // head_dim
        flops = 4 * batch * tokens**2 * heads * head_dim / (2 if causal else 1)
        flops *= 3.5 if row["passes"] == "forward_backward" else 1
        points.append(
            KernelPoint(
                "prefill_attention",
                row["accelerator"],
                row["library"],
                "bf16",
                (batch, tokens, heads, heads, head_dim),
                tokens,
                flops / (float(row["tflops"]) * 1e12),
                causal,
                row["passes"],
            )
        )
    return points


def _rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
