"""Which constants an accelerator takes, and what a defect says."""

import shutil

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.catalog.kernel_calibrations import load_kernel_calibrations
from service.errors import CatalogDefect
from service.shipped import shipped_path

FOLDER = shipped_path("hardware_catalog") / "calibrations"


@pytest.fixture(scope="module")
def catalog():
    return load_shipped_catalog()


@pytest.fixture
def of(catalog):
    return lambda name: catalog.kernels.for_accelerator(catalog.accelerator(name))


@pytest.mark.parametrize(
    ("accelerator", "file", "measured"),
    [
        ("a100-sxm4-80gb", "kernels-ampere", True),
        ("h100-sxm5-80gb", "kernels-hopper", True),
        ("h20-96gb", "kernels-hopper", False),
        ("gb300", "kernels-blackwell", True),
        ("l40s", "kernels-ampere", False),
        ("mi300x", "kernels-unmeasured", False),
    ],
)
def test_an_accelerator_takes_its_generation(of, accelerator, file, measured):
    found = of(accelerator)
    assert found.source == f"hardware_catalog/calibrations/{file}.yaml"
    assert found.measured is measured


def test_the_engine_has_the_accelerators_peaks(of):
    engine = of("h100-sxm5-80gb").gemm("fp8")
    assert engine.peak_flops_per_second == 1978.9e12
    assert engine.memory_bandwidth_bytes_per_second == 3.35e12
    assert (engine.sm_count, engine.weight_bytes) == (132, 1.0)


def test_without_the_hardware_weights_are_widened(of):
    engine = of("a100-sxm4-80gb").gemm("fp8")
    assert (engine.peak_flops_per_second, engine.activation_bytes, engine.weight_bytes) == (312e12, 2.0, 1.0)
    assert engine.constants == of("a100-sxm4-80gb").gemm("bf16").constants


def test_a_library_has_its_own_constants_where_it_was_measured(of):
    hopper = of("h100-sxm5-80gb")
    assert hopper.gemm("fp8", "vllm").constants != hopper.gemm("fp8").constants
    assert hopper.gemm("fp8", "trtllm").constants == hopper.gemm("fp8").constants
    assert hopper.gemm("bf16", "vllm").constants == hopper.gemm("bf16").constants


def test_attention_runs_in_16_bit_where_there_is_no_fp8(of):
    assert of("a100-sxm4-80gb").attention("fp8").peak_flops_per_second == 312e12
    assert of("h100-sxm5-80gb").attention("fp8").peak_flops_per_second == 1978.9e12


def test_the_cache_format_is_what_is_read(of):
    assert of("h100-sxm5-80gb").decode_attention("fp8").kv_bytes == 1.0
    assert of("a100-sxm4-80gb").decode_attention("fp8").kv_bytes == 1.0  # stored so, widened when read


def test_residuals_by_size_and_wider_where_not_measured(of):
    own = of("h100-sxm5-80gb").residual("gemm", "bf16", 4096)
    other = of("h20-96gb").residual("gemm", "bf16", 4096)
    assert own.measured
    assert not other.measured
    assert other.low_ratio == own.low_ratio**2
    assert other.high_ratio == own.high_ratio**2
    assert own != of("h100-sxm5-80gb").residual("gemm", "bf16", 1)


def test_a_format_that_another_stands_in_for_is_not_measured(of):
    assert not of("h100-sxm5-80gb").residual("gemm", "int8", 1).measured
    assert not of("h100-sxm5-80gb").residual("gemm", "nvfp4", 1).measured


def test_every_accelerator_has_every_engine(catalog):
    for entry in catalog.entries("accelerators"):
        found = catalog.kernels.for_accelerator(catalog.accelerator(entry.id))
        assert found.gemm("nvfp4").peak_flops_per_second > 0
        assert found.attention("fp8").peak_flops_per_second > 0
        assert found.decode_attention("fp8").memory_bandwidth_bytes_per_second > 0
        assert 0.5 < found.sustained_ratio <= 1


def test_a_defect_names_the_file(tmp_path):
    for path in FOLDER.glob("kernels-*.yaml"):
        shutil.copy(path, tmp_path)
    hopper = tmp_path / "kernels-hopper.yaml"
    hopper.write_text(hopper.read_text().replace("peak_ratio", "peek_ratio"))
    with pytest.raises(CatalogDefect, match="kernels-hopper"):
        load_kernel_calibrations(tmp_path)


def test_the_stand_in_must_be_there(tmp_path):
    with pytest.raises(CatalogDefect, match="kernels-unmeasured"):
        load_kernel_calibrations(tmp_path)
