"""Weight bytes against the sizes that checkpoints have, and against arithmetic."""

from __future__ import annotations

import pytest

from service.catalog.catalog import Catalog
from service.core.inference.layout import ServingLayout
from service.core.inference.weights import (
    KvDtype,
    WeightDtype,
    bytes_per_weight,
    quantised_terms,
    weight_bytes,
    weight_bytes_per_gpu,
)


@pytest.mark.parametrize(
    ("dtype", "group", "expected"),
    [
        (WeightDtype.BF16, None, 2.0),
        (WeightDtype.FP8, None, 1.0),
        (WeightDtype.FP8, 128, 1 + 4 / 128**2),  # one fp32 for 128 x 128
        (WeightDtype.NVFP4, None, 0.5625),  # one byte for 16
        (WeightDtype.MXFP4, None, 0.53125),  # one byte for 32
        (WeightDtype.INT8, None, 1.0),
        (WeightDtype.INT4, None, 0.5 + 2.5 / 128),
        (WeightDtype.INT4, 32, 0.5 + 2.5 / 32),
    ],
)
def test_bytes_of_a_parameter(dtype: WeightDtype, group: int | None, expected: float) -> None:
    assert bytes_per_weight(dtype, group) == expected


@pytest.mark.parametrize(
    ("dtype", "gigabytes"),
    [
        # Llama 70B: 68.45e9 in the blocks, 2 x 1.05e9 in embedding and head, which stay bf16.
        (WeightDtype.BF16, 141.1),
        (WeightDtype.FP8, 72.7),
        (WeightDtype.NVFP4, 42.7),
    ],
)
def test_llama_70b_resident(catalog: Catalog, dtype: WeightDtype, gigabytes: float) -> None:
    shape = catalog.model("llama3.1-70b").architecture
    assert sum(weight_bytes(shape, dtype).values()) / 1e9 == pytest.approx(gigabytes, rel=0.001)


def test_gpt_oss_keeps_all_but_its_experts_in_bf16(catalog: Catalog) -> None:
    """The checkpoint of openai/gpt-oss-120b is 65.2 GB (60.8 GiB on its card)."""
    shape = catalog.model("gpt-oss-120b").architecture
    assert sum(weight_bytes(shape, WeightDtype.MXFP4).values()) / 2**30 == pytest.approx(60.8, rel=0.005)


def test_nvfp4_keeps_latent_attention_in_bf16(catalog: Catalog) -> None:
    assert "attention" not in quantised_terms(catalog.model("deepseek-r1").architecture, WeightDtype.NVFP4)
    assert "attention" in quantised_terms(catalog.model("llama3.1-70b").architecture, WeightDtype.NVFP4)


def test_a_gpu_holds_its_share(catalog: Catalog) -> None:
    """405B fp8 on 8 GPUs: (405.85e9 + 4.2e9 of bf16 embedding and head) / 8 = 51.26 GB."""
    shape = catalog.model("llama3.1-405b").architecture
    assert weight_bytes_per_gpu(shape, WeightDtype.FP8, ServingLayout(8)) / 1e9 == pytest.approx(51.26, rel=1e-3)


def test_key_value_projections_are_copied_past_the_heads(catalog: Catalog) -> None:
    """Llama 70B at 16 GPUs, bf16: K and V are 2 x 80 x 8192 x 1024 x 2 B = 2.68 GB, an eighth on each, not a 16th."""
    shape = catalog.model("llama3.1-70b").architecture
    each = weight_bytes_per_gpu(shape, WeightDtype.BF16, ServingLayout(16))
    even = sum(weight_bytes(shape, WeightDtype.BF16).values()) / 16
    assert each - even == pytest.approx(2 * 80 * 8192 * 1024 * 2 * (1 / 8 - 1 / 16), rel=0.02)


def test_attention_copies_share_the_experts(catalog: Catalog) -> None:
    shape = catalog.model("deepseek-r1").architecture
    terms = weight_bytes(shape, WeightDtype.NVFP4)
    copied = weight_bytes_per_gpu(shape, WeightDtype.NVFP4, ServingLayout(1, 1, 8, 8))
    assert copied == pytest.approx(terms["routed_experts"] / 8 + sum(terms.values()) - terms["routed_experts"])


def test_stages_share_the_layers(catalog: Catalog) -> None:
    shape = catalog.model("llama3.1-70b").architecture
    whole = weight_bytes_per_gpu(shape, WeightDtype.FP8, ServingLayout(2))
    assert weight_bytes_per_gpu(shape, WeightDtype.FP8, ServingLayout(2, 2)) == pytest.approx(whole / 2)


def test_formats_say_what_they_are_multiplied_in() -> None:
    assert WeightDtype.NVFP4.compute_format == "fp4"
    assert WeightDtype.INT4.compute_format == "bf16"
    assert [d.size_bytes for d in KvDtype] == [2, 2, 1, 1]
