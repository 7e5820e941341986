"""Matrix multiplication, worked by hand on round constants."""

from dataclasses import replace

import pytest

from service.core.kernels.gemm import GemmConstants, GemmEngine, gemm_seconds, grouped_gemm_seconds

# 1000 TFLOP/s at half, 1 TB/s at 0.8, 100 SMs that are fed without limit; whole tiles only; 5 us.
CONSTANTS = GemmConstants(0.5, 0.8, 1e15, 1.0, 0.0, 5e-6, 2.0)
ENGINE = GemmEngine(1e15, 1e12, 100, 2.0, 2.0, 2.0, CONSTANTS)


def with_constants(**changes):
    return replace(ENGINE, constants=replace(CONSTANTS, **changes))


def test_one_full_wave():
    """10 × 10 tiles of 128 × 256 on 100 SMs: 2 × 1280 × 2560 × 10000 / 0.5e15 = 131.072 us.

    2 × (1280 × 10000 + 2560 × 10000 + 1280 × 2560) = 83.3536 MB at 0.8 TB/s = 104.192 us.
    5 us + sqrt(131.072² + 104.192²) = 172.440 us.
    """
    assert gemm_seconds(1280, 2560, 10000, ENGINE) == pytest.approx(172.440e-6, rel=1e-5)


def test_one_tile_more_is_half_a_wave_more():
    """1281 rows: 110 tiles of 128 × 256 are two waves, 220 of 128 × 128 three half ones, 440 of 128 × 64 five quarters.

    The last is fastest: 1.25 × 131.072 = 163.84 us. Tiles of 64 × 32 make 21 × 80 = 1680: 17 sixteenths, 139.264 us.
    """
    seconds = gemm_seconds(1281, 2560, 10000, with_constants(memory_ratio=1e6))
    assert seconds == pytest.approx(5e-6 + 139.264e-6, rel=1e-5)


def test_split_k_fills_part_of_the_last_wave():
    """Half of the rest stays idle. 10 tiles of 64 × 32 on 100 SMs: 0.1 + 0.5 × 0.9 = 0.55 waves.

    A tile is 2 × 64 × 32 × 100 / 0.5e15 = 0.8192 ns an element of k; × 10000 × 0.55 = 4.5056 us.
    """
    engine = with_constants(memory_ratio=1e6, wave_ratio=0.5)
    assert gemm_seconds(64, 320, 10000, engine) == pytest.approx(5e-6 + 4.5056e-6, rel=1e-5)


def test_few_rows_are_bound_by_what_an_sm_takes_in():
    """One row of 3200 columns: 100 tiles of 64 × 32 take in (64 + 32) × 2 B = 192 B an element of k, at 96 GB/s 2 ns.

    Wider tiles leave SMs idle and take in more. 2 ns × 10000 = 20 us.
    """
    engine = with_constants(feed_bytes_per_second=96e9, memory_ratio=1e6)
    assert gemm_seconds(1, 3200, 10000, engine) == pytest.approx(25e-6, rel=1e-5)


def test_starting_a_tile_costs_some_of_k():
    """131.072 us for 10000 elements, 250 more: 134.3488 us."""
    engine = with_constants(ramp_elements=250.0, memory_ratio=1e6)
    assert gemm_seconds(1280, 2560, 10000, engine) == pytest.approx(5e-6 + 134.3488e-6, rel=1e-5)


def test_streaming_weights_is_bound_by_memory():
    """1 row: 2 × (10000 + 1e8 + 10000) B = 200.04 MB at 0.8 TB/s = 250.05 us; the products take far less."""
    assert gemm_seconds(1, 10000, 10000, with_constants(peak_ratio=1e6)) == pytest.approx(255.05e-6, rel=1e-5)


def test_a_misaligned_row_is_slower():
    """10922 columns are no multiple of 8, 10944 are. ml-engineering: 46 % on A100."""
    engine = with_constants(memory_ratio=1e6, wave_ratio=1e-9)
    ratio = gemm_seconds(16384, 10922, 4096, engine) / gemm_seconds(16384, 10944, 4096, engine)
    assert ratio == pytest.approx(1.46, rel=0.01)


def test_groups_share_the_sms():
    """4 groups of 25 tiles fill the 100 SMs that one of 100 tiles does: the same products take the same time."""
    engine = with_constants(memory_ratio=1e6)
    assert grouped_gemm_seconds(4, 640, 1280, 10000, engine) == pytest.approx(gemm_seconds(1280, 2560, 10000, engine))


def test_groups_stream_all_their_weights():
    """8 experts with one row each read 8 × 2 × (10000 + 1e8 + 10000) B at 0.8 TB/s: 2000.4 us."""
    engine = with_constants(peak_ratio=1e6)
    assert grouped_gemm_seconds(8, 1, 10000, 10000, engine) == pytest.approx(2005.4e-6, rel=1e-5)


def test_nothing_takes_no_time():
    assert gemm_seconds(0, 4096, 4096, ENGINE) == grouped_gemm_seconds(0, 5, 4096, 4096, ENGINE) == 0.0
