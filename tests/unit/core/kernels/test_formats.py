"""What an element takes: from each format's definition."""

import pytest

from service.core.kernels.formats import GEMM_FORMATS, weight_only


@pytest.mark.parametrize(
    ("name", "bits"),
    [("bf16", 16), ("fp8", 8), ("nvfp4", 4 + 8 / 16), ("mxfp4", 4 + 8 / 32), ("int4_weight_only", 4 + 16 / 128)],
)
def test_weights_with_their_scales(name, bits):
    assert GEMM_FORMATS[name].weight_bytes == bits / 8


def test_a_block_of_128_activations_has_one_fp32_scale():
    assert GEMM_FORMATS["fp8_block"].activation_bytes == (128 + 4) / 128


def test_weights_that_are_widened_keep_their_bytes_and_run_in_16_bit():
    widened = weight_only(GEMM_FORMATS["nvfp4"])
    assert (widened.weight_bytes, widened.activation_bytes, widened.peaks[0]) == (0.5625, 2.0, "bf16")
