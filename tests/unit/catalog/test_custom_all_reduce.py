"""Frameworks' kernels: found by the boards of a system, selection by architecture, defects refused."""

import shutil
from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.catalog.custom_all_reduce import load_bands, load_custom_all_reduce
from service.core.collectives.cost import Algorithm
from service.core.collectives.custom_all_reduce import NCCL, kernel_for
from service.core.numerics import Dtype
from service.errors import CatalogDefect
from service.shipped import shipped_path

FOLDER = shipped_path("hardware_catalog") / "calibrations"
KIB, MIB = 1024, 1024 * 1024


@cache
def found():
    return load_custom_all_reduce(FOLDER)


@cache
def system(name):
    return load_shipped_catalog().system(name)


@pytest.mark.parametrize(
    "name", ["dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300", "gb200-nvl72", "gb300-nvl72"]
)
@pytest.mark.parametrize("implementation", ["vllm", "sglang", "trtllm"])
def test_every_nvlink_generation_since_ampere_has_them(name, implementation):
    kernels = found().kernels(implementation, system(name))
    assert kernels.kernels["one_shot"].algorithm is Algorithm.ONE_SHOT
    assert set(kernels.host_seconds) == {*kernels.kernels, NCCL}
    assert {2, 4, 8} <= set(kernels.bands)


def test_a_grace_board_is_not_one_behind_pcie():
    b200, gb200 = (found().kernels("vllm", system(name)) for name in ("dgx-b200", "gb200-nvl72"))
    assert gb200.kernels["one_shot"].launch_seconds < b200.kernels["one_shot"].launch_seconds


def test_boards_that_nobody_measured_have_none():
    assert found().kernels("vllm", system("azure-nd96isr-mi300x-v5")) is None
    assert found().calibration("vllm", system("dgx-1v")) is None
    assert found().kernels("faster", system("dgx-h100")) is None


@pytest.mark.parametrize(
    ("implementation", "name", "gpus", "size_bytes", "kernel"),
    [
        # vLLM: `inp_size < max_size`, 8 MiB on SM 8; one shot below 512 KiB for 4, 256 KiB for 8
        ("vllm", "dgx-a100", 2, 8 * MIB - 16, "one_shot"),
        ("vllm", "dgx-a100", 2, 8 * MIB, NCCL),
        ("vllm", "dgx-a100", 4, 512 * KIB, "two_shot"),
        ("vllm", "dgx-a100", 8, 256 * KIB - 16, "one_shot"),
        # SM 9.0: 256 KiB for 8 and symmetric memory up to and with 64 MiB
        ("vllm", "dgx-h100", 8, 256 * KIB, "symmetric_multimem"),
        ("vllm", "dgx-h100", 8, 64 * MIB, "symmetric_multimem"),
        ("vllm", "dgx-h100", 8, 64 * MIB + 4, NCCL),
        ("vllm", "dgx-h100", 4, 8 * MIB, "symmetric_multimem"),
        # SM 10.0 has 1 MiB for 8, SM 10.3 has 4 MiB
        ("vllm", "dgx-b200", 8, 1 * MIB, "symmetric_multimem"),
        ("vllm", "dgx-b300", 8, 1 * MIB, "two_shot"),
        ("vllm", "dgx-b200", 4, 2 * MIB, "symmetric_two_shot"),
        # SGLang: 160 KiB and 720 KiB for 8; never above 16 MiB
        ("sglang", "dgx-h200", 8, 160 * KIB, "one_shot"),
        ("sglang", "dgx-h200", 8, 256 * KIB, "two_shot"),
        ("sglang", "dgx-b200", 8, 720 * KIB, "one_shot"),
        ("sglang", "dgx-b200", 2, 16 * MIB, "one_shot"),
        ("sglang", "dgx-b200", 2, 32 * MIB, NCCL),
        # TensorRT-LLM's table for hidden size 4096: 64 tokens are 512 KiB, 128 go to NCCL, 256 to two shots
        ("trtllm", "dgx-h100", 8, 512 * KIB, "one_shot"),
        ("trtllm", "dgx-h100", 8, 1 * MIB, NCCL),
        ("trtllm", "dgx-h100", 8, 2 * MIB, "two_shot"),
        ("trtllm", "dgx-b200", 8, 32 * MIB, "two_shot"),
        ("trtllm", "dgx-b200", 8, 64 * MIB, NCCL),
    ],
)
def test_thresholds_are_those_of_the_frameworks_source(implementation, name, gpus, size_bytes, kernel):
    kernels = found().kernels(implementation, system(name))
    adds = system(name).scale_up.in_switch_reduction
    assert kernel_for(kernels, Dtype.BF16, gpus, size_bytes, switch_adds=adds) == kernel


def test_residuals_are_by_launch_and_size():
    mine = found().calibration("vllm", system("dgx-h100"))
    assert mine.residual("graph", 1024).up_to_bytes == 256 * KIB
    assert mine.residual("graph", 1 << 30).rows > 0
    assert found().calibration("trtllm", system("dgx-h100")).residual("eager", 1024) is None


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("custom-all-reduce.yaml", "algorithm: one_shot", "algorithm: one_shoot"),
        ("custom-all-reduce.yaml", "launch: ", "lunch: "),
        ("custom-all-reduce.yaml", "link_ratio: 0", "link_ratio: 7"),
        ("custom-all-reduce.yaml", "          two_shot: {algorithm", "          three_shot: {algorithm"),
        ("custom-all-reduce-selection.yaml", "below: 8 MiB", "below: 8 MuB"),
    ],
)
def test_a_file_that_does_not_hold_together_is_refused(tmp_path, file, old, new):
    for name in ("custom-all-reduce.yaml", "custom-all-reduce-selection.yaml"):
        shutil.copy(FOLDER / name, tmp_path)
    path = tmp_path / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CatalogDefect, match=file):
        load_custom_all_reduce(tmp_path)


def test_a_folder_without_them_does_not_load(tmp_path):
    with pytest.raises(CatalogDefect):
        load_bands(tmp_path)
