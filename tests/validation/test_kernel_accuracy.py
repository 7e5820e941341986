"""Kernels against the published tables, and the calibrations against what their fit writes."""

import re
from functools import cache

import numpy as np
import pytest

from tests.architecture.sources import ROOT
from validation import fit_kernels
from validation.kernel_figures import with_tables

NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")

LARGE_RATIO, SMALL_RATIO = 0.08, 0.12
# Medians that miss the target, and how far they may be off; why is in docs/kernels.md. (kernel, set, accelerator, band)
MISSED = {
    ("gemm", "bf16", "gb300", 0): 0.13,
    ("gemm", "bf16", "gb300", 2): 0.15,
    ("gemm", "fp8", "gb200", 2): 0.11,
    ("gemm", "fp8", "b300-sxm", 2): 0.10,
    ("gemm", "fp8", "gb300", 2): 0.09,
    ("gemm", "fp8@vllm", "b200-sxm-180gb", 2): 0.16,
    ("gemm", "fp8@vllm", "h200-sxm-141gb", 2): 0.10,
    ("gemm", "fp8_block", "gb300", 2): 0.13,
    ("gemm", "nvfp4", "b200-sxm-180gb", 1): 0.13,
    ("gemm", "nvfp4", "b300-sxm", 2): 0.19,
    ("gemm", "nvfp4", "gb300", 2): 0.21,
    ("gemm", "nvfp4@vllm", "b200-sxm-180gb", 2): 0.09,
    ("prefill_attention", "bf16", "a100-sxm4-80gb", 0): 0.19,
    ("prefill_attention", "bf16@flash_attention_3", "h100-sxm5-80gb", 0): 0.15,
    ("prefill_attention", "bf16", "b300-sxm", 1): 0.13,
    ("prefill_attention", "fp8", "b300-sxm", 1): 0.21,
    ("prefill_attention", "bf16", "gb300", 1): 0.18,
    ("prefill_attention", "fp8", "gb300", 1): 0.20,
    ("decode_attention", "bf16", "h100-sxm5-80gb", 0): 0.17,
    ("decode_attention", "bf16", "h200-sxm-141gb", 0): 0.15,
    ("decode_attention", "bf16@sglang", "a100-sxm4-80gb", 1): 0.16,
    ("decode_attention", "bf16@sglang", "a100-sxm4-80gb", 2): 0.09,
    ("decode_attention", "fp8", "h100-sxm5-80gb", 2): 0.09,
}


@cache
def medians():
    """Median error of every class of sizes of every set and accelerator, with the constants just fitted."""
    errors = {}
    for fit in fit_kernels.fitted_generations():
        for kernel, name, _, point, ratio in fit_kernels.scored(fit):
            band = next(i for i, (upper, _) in enumerate(fit_kernels.BANDS[kernel]) if point.size <= upper)
            errors.setdefault((kernel, name, point.accelerator, band), []).append(abs(ratio - 1))
    return {key: float(np.median(found)) for key, found in errors.items()}


def target(key):
    last = key[3] == len(fit_kernels.BANDS[key[0]]) - 1
    return LARGE_RATIO if last else SMALL_RATIO


def test_medians_are_on_target_or_known_to_miss_it():
    off = {key: error for key, error in medians().items() if error > MISSED.get(key, target(key))}
    assert off == {}


def test_what_meets_its_target_is_not_excused():
    assert [key for key in MISSED if medians()[key] <= target(key)] == []


def test_what_was_fitted_meets_the_target_in_bf16():
    for accelerator in ("a100-sxm4-80gb", "h100-sxm5-80gb", "b200-sxm-180gb", "h200-sxm-141gb"):
        assert medians()["gemm", "bf16", accelerator, 2] <= LARGE_RATIO
        assert medians()["gemm", "bf16", accelerator, 0] <= SMALL_RATIO


def test_the_files_are_what_the_fit_writes():
    """The words are the same and every figure within 3 %: another processor's rounding may turn a third digit."""
    for path, text in fit_kernels.written():
        if path == fit_kernels.PAGE:
            continue
        shipped = path.read_text(encoding="utf-8")
        assert NUMBER.sub("#", shipped) == NUMBER.sub("#", text), f"{path.name}: run {fit_kernels.COMMAND}"
        figures = [list(map(float, NUMBER.findall(t))) for t in (shipped, text)]
        assert figures[0] == pytest.approx(figures[1], rel=0.03, abs=0.003), f"{path.name}: run {fit_kernels.COMMAND}"


def test_the_page_has_the_tables():
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    assert with_tables(page, "figures") != page
    assert with_tables(with_tables(page, "figures"), "figures") == with_tables(page, "figures")
    assert page.count("held out") > 20
