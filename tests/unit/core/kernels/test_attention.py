"""Attention, worked by hand on round constants."""

from dataclasses import replace

import pytest

from service.core.kernels.attention import (
    AttentionConstants,
    AttentionEngine,
    DecodeConstants,
    DecodeEngine,
    attended_pairs,
    decode_attention_seconds,
    flash_attention_seconds,
)

# 1000 TFLOP/s at 0.6, 1 TB/s at 0.8, 36 keys a query for the ramp (100 with the 64 of a causal mask), 5 us.
FLASH = AttentionEngine(1e15, 1e12, 2.0, AttentionConstants(0.6, 0.0, 36.0, 0.8, 5e-6))
# 1 TB/s at 0.8, 20 us more for large caches, half of it at 8 MB, 10 us.
DECODE = DecodeEngine(1e15, 1e12, 2.0, DecodeConstants(0.8, 0.5, 20e-6, 8e6, 10e-6))


@pytest.mark.parametrize(
    ("query", "context", "options", "pairs"),
    [
        (1000, 1000, {}, 500_000),  # half of the square
        (1000, 1000, {"causal": False}, 1_000_000),
        (100, 1000, {}, 95_000),  # a chunk at the end: 100 × 900 before it + 100²/2
        (1000, 1000, {"window_tokens": 200}, 180_000),  # 200²/2 growing + 800 × 200
        (100, 1000, {"window_tokens": 200}, 20_000),  # all see the whole window
        (1000, 1000, {"window_tokens": 5000}, 500_000),  # wider than there is
        (1000, 1000, {"window_tokens": 200, "causal": False}, 200_000),
    ],
)
def test_pairs(query, context, options, pairs):
    assert attended_pairs(query, context, **options) == pairs


def test_prefill():
    """Pairs 500000 + 1000 × 100; × 2 × 10 heads × (100 + 100) = 2.4 GFLOP at 0.6e15 = 4 us.

    q, k, v, o: 2 B × (10000 + 10000) × 200 = 8 MB at 0.8 TB/s = 10 us. With 5 us: 19 us.
    """
    assert flash_attention_seconds(1, 1000, 10, 10, 100, FLASH) == pytest.approx(19e-6)


def test_backward():
    """4 us × 2.5 / 0.8 + 10 us × 2.5 + 5 us = 42.5 us."""
    assert flash_attention_seconds(1, 1000, 10, 10, 100, FLASH, backward=True) == pytest.approx(42.5e-6)


def test_without_a_mask_no_tile_is_cut():
    """Pairs 1000000 + 1000 × 36, × 4000 = 4.144 GFLOP at 0.6e15 = 6.90667 us; 10 us; 5 us."""
    assert flash_attention_seconds(1, 1000, 10, 10, 100, FLASH, causal=False) == pytest.approx(21.90667e-6)


def test_grouped_heads_pass_fewer_keys():
    """2 B × (10000 + 2000) × 200 = 4.8 MB: 6 us instead of 10."""
    assert flash_attention_seconds(1, 1000, 10, 2, 100, FLASH) == pytest.approx(15e-6)


def test_mla_has_narrower_values():
    """(192 + 128) in place of 200: 4 us × 1.6 + 10 us × 1.6 + 5 us = 27.4 us."""
    assert flash_attention_seconds(1, 1000, 10, 10, 192, FLASH, value_head_dim=128) == pytest.approx(27.4e-6)


def test_narrow_heads_wait_for_the_exponentials():
    """With d0 = 50, heads of 50 take (100 + 100) for the 100 they do: 2.4 GFLOP again, 4 us; half the bytes, 5 us."""
    engine = replace(FLASH, constants=replace(FLASH.constants, softmax_elements=50.0))
    assert flash_attention_seconds(1, 1000, 10, 10, 50, engine) == pytest.approx(14e-6)


def test_a_chunk_reads_the_whole_context():
    """100 of 1000 tokens: pairs 95000 + 10000, × 4000 = 0.42 GFLOP, 0.7 us; 2 × (1000 + 10000) × 200 B, 5.5 us."""
    assert flash_attention_seconds(1, 100, 10, 10, 100, FLASH, context_tokens=1000) == pytest.approx(11.2e-6)


def test_decode():
    """2 B × 4 × 1000 × 5 × 200 = 8 MB at 0.8 TB/s = 10 us; half of 20 us; 10 us: 30 us."""
    assert decode_attention_seconds(4, 1000, 10, 5, 100, DECODE) == pytest.approx(30e-6)


def test_decode_reads_no_further_than_the_window():
    assert decode_attention_seconds(4, 9000, 10, 5, 100, DECODE, window_tokens=1000) == pytest.approx(30e-6)


def test_mla_decode_reads_one_latent_for_all_heads():
    """2 B × 100 × 1000 × 576 = 115.2 MB: 144 us + 20 us × 115.2/123.2 = 162.7 us.

    128 heads × 100 × 1000 × 2 × (576 + 512) = 27.85 GFLOP at 0.5e15 = 55.7 us is less. With 10 us: 172.701 us.
    """
    seconds = decode_attention_seconds(100, 1000, 128, 1, 576, DECODE, value_head_dim=512, latent=True)
    assert seconds == pytest.approx(172.701e-6, rel=1e-5)


def test_mla_decode_with_a_fast_memory_is_bound_by_its_products():
    """55.7056 us + 10 us."""
    engine = replace(DECODE, memory_bandwidth_bytes_per_second=1e13)
    seconds = decode_attention_seconds(100, 1000, 128, 1, 576, engine, value_head_dim=512, latent=True)
    assert seconds == pytest.approx(65.7056e-6, rel=1e-5)


def test_nothing_takes_no_time():
    assert flash_attention_seconds(0, 1000, 10, 10, 100, FLASH) == 0.0
    assert decode_attention_seconds(1, 0, 10, 10, 100, DECODE) == 0.0
