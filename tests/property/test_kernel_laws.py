"""What must hold of every kernel on every accelerator: never faster than the hardware, never faster for more work."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from service.catalog.catalog import load_shipped_catalog
from service.core.kernels.attention import attended_pairs, decode_attention_seconds, flash_attention_seconds
from service.core.kernels.formats import GEMM_FORMATS
from service.core.kernels.gemm import gemm_seconds, grouped_gemm_seconds
from service.core.kernels.memory_bound import memory_bound_seconds, quantise_seconds

ROUNDING = 1 + 1e-9


@cache
def calibrations():
    catalog = load_shipped_catalog()
    return [catalog.kernels.for_accelerator(catalog.accelerator(e.id)) for e in catalog.entries("accelerators")]


of_any = st.deferred(lambda: st.sampled_from(calibrations()))
libraries = st.sampled_from(["", "trtllm", "vllm", "sglang", "flash_attention_2", "flash_attention_3"])
rows = st.integers(1, 40000)
columns = st.integers(1, 1024).map(lambda n: 64 * n)  # aligned in every format
tokens = st.integers(1, 200000)
heads = st.integers(1, 128)


@given(of_any, st.sampled_from(sorted(GEMM_FORMATS)), libraries, rows, columns, columns)
def test_a_multiplication_is_never_faster_than_the_roofline(calibration, gemm_format, library, m, n, k):
    engine = calibration.gemm(gemm_format, library)
    compute = 2 * m * n * k / engine.peak_flops_per_second
    moved = m * k * engine.activation_bytes + n * k * engine.weight_bytes + m * n * engine.output_bytes
    floor = max(compute, moved / engine.memory_bandwidth_bytes_per_second)
    assert gemm_seconds(m, n, k, engine) * ROUNDING >= floor


@given(of_any, st.sampled_from(sorted(GEMM_FORMATS)), libraries, rows, columns, columns, st.integers(1, 4096))
def test_more_rows_columns_or_depth_never_take_less(calibration, gemm_format, library, m, n, k, more):
    engine = calibration.gemm(gemm_format, library)
    seconds = gemm_seconds(m, n, k, engine)
    for larger in ((m + more, n, k), (m, n + 64 * more, k), (m, n, k + 64 * more)):
        assert gemm_seconds(*larger, engine) * ROUNDING >= seconds


@given(of_any, st.integers(1, 256), rows, columns, columns)
def test_groups_never_take_less_than_one_and_never_more_than_one_after_another(calibration, groups, m, n, k):
    engine = calibration.gemm("bf16")
    together = grouped_gemm_seconds(groups, m, n, k, engine)
    one = gemm_seconds(m, n, k, engine)
    assert one <= together * ROUNDING
    assert together <= groups * one * ROUNDING


@given(of_any, st.sampled_from(["bf16", "fp8"]), libraries, tokens, tokens, heads, st.sampled_from([64, 128, 192, 256]))
def test_attention_is_never_faster_than_its_products(calibration, number_format, library, query, before, h, d):
    engine = calibration.attention(number_format, library)
    for options in ({}, {"window_tokens": 4096}, {"causal": False}):
        pairs = attended_pairs(query, query + before, **options)
        forward = flash_attention_seconds(1, query, h, h, d, engine, context_tokens=query + before, **options)
        backward = flash_attention_seconds(
            1, query, h, h, d, engine, context_tokens=query + before, backward=True, **options
        )
        assert backward > forward >= 4 * h * d * pairs / engine.peak_flops_per_second
        longer = flash_attention_seconds(1, query, h, h, d, engine, context_tokens=query + before + 100, **options)
        assert longer * ROUNDING >= forward


@given(of_any, st.sampled_from(["bf16", "fp8"]), libraries, st.integers(1, 1024), tokens, st.integers(1, 16))
def test_decode_is_never_faster_than_reading_the_cache(calibration, kv_format, library, batch, context, groups):
    engine = calibration.decode_attention(kv_format, library)
    seconds = decode_attention_seconds(batch, context, 8 * groups, groups, 128, engine)
    read = 2 * batch * context * groups * 128 * engine.kv_bytes
    assert seconds >= read / engine.memory_bandwidth_bytes_per_second
    assert decode_attention_seconds(batch, context + 1, 8 * groups, groups, 128, engine) >= seconds
    assert decode_attention_seconds(batch + 1, context, 8 * groups, groups, 128, engine) >= seconds


@given(of_any, st.floats(0, 1e12), st.floats(1, 1000))
def test_moved_bytes_are_never_faster_than_the_memory(calibration, moved, kernels):
    bandwidth = calibration.accelerator.memory_bandwidth_bytes_per_second
    graph = memory_bound_seconds(moved, bandwidth, calibration.memory_bound, num_kernels=kernels, cuda_graphs=True)
    eager = memory_bound_seconds(moved, bandwidth, calibration.memory_bound, num_kernels=kernels)
    assert eager >= graph >= moved / bandwidth
    assert quantise_seconds(moved, bandwidth, calibration.memory_bound) >= 3 * moved / bandwidth
