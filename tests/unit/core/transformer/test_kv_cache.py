"""Cache bytes worked by hand from the shapes that the models' configuration files give."""

from __future__ import annotations

import pytest

from service.core.transformer.architecture import LatentAttention, TransformerArchitecture
from service.core.transformer.kv_cache import (
    cached_token_layers,
    kv_bytes_per_token,
    kv_elements_per_layer,
    kv_sequence_bytes,
)


def decoder(layers: int, heads: int, kv_heads: int, head_dim: int, **more: object) -> TransformerArchitecture:
    return TransformerArchitecture(layers, heads * head_dim, heads, kv_heads, head_dim, 1, 1, **more)  # type: ignore[arg-type]


LLAMA_70B = decoder(80, 64, 8, 128)
DEEPSEEK = decoder(61, 128, 128, 192, mla=LatentAttention(1536, 512, 128, 64, 128))


@pytest.mark.parametrize(
    ("shape", "bytes_bf16"),
    [
        (decoder(32, 32, 32, 128), 524288),  # Llama-2-7B: 2 x 32 x 32 x 128 x 2
        (decoder(32, 32, 8, 128), 131072),  # Llama-3.1-8B: 2 x 32 x 8 x 128 x 2
        (LLAMA_70B, 327680),  # 2 x 80 x 8 x 128 x 2
        (decoder(126, 128, 8, 128), 516096),  # 405B: 2 x 126 x 8 x 128 x 2
        (decoder(60, 128, 1, 128), 30720),  # one head: 2 x 60 x 128 x 2
        (DEEPSEEK, 70272),  # 61 x (512 + 64) x 2, no factor 2 for key and value
    ],
)
def test_bytes_per_token_of_published_shapes(shape: TransformerArchitecture, bytes_bf16: int) -> None:
    assert kv_bytes_per_token(shape, 2) == bytes_bf16
    assert kv_bytes_per_token(shape, 1) == bytes_bf16 / 2


def test_heads_are_shared_by_tensor_parallel_gpus_until_there_are_none_left() -> None:
    """8 heads of 128, keys and values: 2048 elements; 256 from 8 GPUs on."""
    assert [kv_elements_per_layer(LLAMA_70B, t) for t in (1, 2, 4, 8, 16)] == [2048, 1024, 512, 256, 256]


def test_a_latent_vector_is_on_every_gpu() -> None:
    assert kv_elements_per_layer(DEEPSEEK, 8) == kv_elements_per_layer(DEEPSEEK, 1) == 576


def test_a_window_ends_what_its_layers_keep() -> None:
    """gpt-oss-120b: 18 of 36 layers see 128 tokens. At 1,000 tokens 18 x 1000 + 18 x 128 = 20,304."""
    shape = decoder(36, 64, 8, 64, sliding_window=128, num_local_attention_layers=18)
    assert cached_token_layers(shape, 100) == 3600
    assert cached_token_layers(shape, 1000) == 20304
    assert kv_sequence_bytes(shape, 1000, 2) == 20304 * 2 * 8 * 64 * 2


def test_without_windows_a_sequence_is_its_tokens() -> None:
    assert kv_sequence_bytes(LLAMA_70B, 1000, 2) == 1000 * 327680
    assert kv_sequence_bytes(LLAMA_70B, 1000, 2, 8) == 1000 * 327680 / 8
