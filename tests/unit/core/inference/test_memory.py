"""What fits, by hand."""

from __future__ import annotations

import pytest

from service.catalog.catalog import Catalog
from service.core.inference.layout import ServingLayout
from service.core.inference.memory import ServingMemory, activation_bytes, largest_batch, largest_context


def test_what_is_left_is_the_cache() -> None:
    memory = ServingMemory(80e9, 72e9, 40e9, 2e9, 1e9)
    assert memory.other_bytes == 3e9
    assert memory.kv_bytes == 29e9


def test_activations_of_a_prompt_in_one_piece(catalog: Catalog) -> None:
    """405B on 8 GPUs, 131,072 tokens: 2 B x 131072 x (3 x 16384 + 3 x 53248 / 8) = 18.1 GB, no logits."""
    shape = catalog.model("llama3.1-405b").architecture
    assert activation_bytes(shape, 131072, 0, 8) == 2 * 131072 * (3 * 16384 + 3 * 53248 / 8)


def test_logits_are_fp32(catalog: Catalog) -> None:
    shape = catalog.model("llama3.1-405b").architecture
    assert activation_bytes(shape, 0, 256, 8) == 4 * 256 * 128256 / 8


def test_batch_is_cache_over_sequence(catalog: Catalog) -> None:
    """Llama 70B, bf16: 327,680 B x 1000 tokens = 0.328 GB; 10 GB hold 30. On 2 GPUs each has half: 61."""
    shape = catalog.model("llama3.1-70b").architecture
    assert largest_batch(shape, ServingLayout(1), 10e9, 1000, 2) == 30
    assert largest_batch(shape, ServingLayout(2), 10e9, 1000, 2) == 61
    assert largest_batch(shape, ServingLayout(1, 2), 10e9, 1000, 2) == 61
    assert largest_batch(shape, ServingLayout(1), -1.0, 1000, 2) == 0


def test_attention_copies_each_hold_their_own(catalog: Catalog) -> None:
    """DeepSeek-R1, fp8: 35,136 B a token; 1 GB holds 28 sequences of 1000 on each of 8 copies."""
    shape = catalog.model("deepseek-r1").architecture
    assert largest_batch(shape, ServingLayout(1, 1, 8, 8), 1e9, 1000, 1) == 8 * 28


def test_longest_context(catalog: Catalog) -> None:
    shape = catalog.model("llama3.1-70b").architecture
    assert largest_context(shape, ServingLayout(1), 10e9, 2) == 10_000_000_000 // 327680
    assert largest_context(shape, ServingLayout(1), 0.0, 2) == 0


def test_windows_lengthen_the_context(catalog: Catalog) -> None:
    """gpt-oss-120b: past the window only 18 of 36 layers grow."""
    shape = catalog.model("gpt-oss-120b").architecture
    tokens = largest_context(shape, ServingLayout(1), 1e9, 2)
    each = 2 * 8 * 64 * 2
    assert (18 * tokens + 18 * 128) * each <= 1e9 < (18 * (tokens + 1) + 18 * 128) * each
    assert tokens == pytest.approx(27_000, rel=0.01)
