"""What of a question fits, by hand."""

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.inference.weights import KvDtype, WeightDtype
from service.planning.inference_memory import kv_capacity_tokens, room_of, what_would_fit
from service.planning.inference_question import InferenceQuestion, resolve

CATALOG = load_shipped_catalog()


def room(**fields):
    whole = {
        "model": "llama3.1-70b",
        "system": "dgx-h200",
        "gpus": 1,
        "weight_dtype": WeightDtype.FP8,
        "engine": "vllm",
    }
    asked = InferenceQuestion(**whole | fields)
    scene = resolve(asked, CATALOG)
    return asked, scene, room_of(asked, scene, CATALOG.calibrations.engines.engines[asked.engine])


def test_the_cache_gets_what_the_weights_leave():
    """vLLM takes 90 %; 72.7 GB of weights, 3 GB of its own and the buffers of a step go off."""
    _, scene, found = room()
    memory = found.memory
    usable = 0.9 * scene.system.accelerator.memory_bytes
    assert memory.usable_bytes == pytest.approx(usable)
    assert memory.weights_bytes == pytest.approx(72.7e9, rel=0.005)
    assert memory.kv_bytes == pytest.approx(usable - memory.weights_bytes - 3e9 - memory.activations_bytes)
    assert kv_capacity_tokens(scene, memory) == int(memory.kv_bytes / 163840)


def test_a_cache_of_16_bits_holds_half():
    narrow, wide = room()[2], room(kv_dtype=KvDtype.BF16)[2]
    assert narrow.most_in_flight == pytest.approx(2 * wide.most_in_flight, rel=0.03)


def test_a_405b_model_cannot_take_its_whole_context_on_eight_h100():
    """vLLM #6746: with buffers for a prompt in one piece, 79,392 tokens of cache are left, not 131,072."""
    lengths = {"input_sequence_length": 130_000, "output_sequence_length": 1000, "chunked_prefill_tokens": 131_072}
    _, _, found = room(model="llama3.1-405b", system="dgx-h100", gpus=8, kv_dtype=KvDtype.BF16, **lengths)
    assert found.context_tokens == pytest.approx(79_392, rel=0.35)
    assert not found.fits


def test_what_would_fit_does():
    asked, scene, found = room(system="dgx-h100", weight_dtype=WeightDtype.BF16)
    assert not found.fits
    assert found.shortfall_bytes > 0
    assert "weight_dtype fp8" in what_would_fit(asked, scene, CATALOG.calibrations.engines.engines["vllm"])
