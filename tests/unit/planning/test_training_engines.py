"""Which kernels a precision takes."""

import pytest

from service.planning.training_engines import framework_class, training_engines
from service.planning.training_question import AttentionKernel, Framework, TrainingPrecision


def engines(catalog, precision, attention=AttentionKernel.FLASH):
    accelerator = catalog.system("gb200-nvl72").accelerator
    return training_engines(accelerator, precision, attention, Framework.MEGATRON, False, catalog)


@pytest.mark.parametrize(
    ("precision", "peak", "cast"),
    [
        (TrainingPrecision.BF16, 2500e12, 0),
        (TrainingPrecision.FP8, 5000e12, 6),
        (TrainingPrecision.MXFP8, 5000e12, 4),
        (TrainingPrecision.FP4, 10000e12, 8),
    ],
)
def test_peaks(catalog, precision, peak, cast):
    found = engines(catalog, precision)
    assert (found.forward.peak_flops_per_second, found.cast_bytes) == (peak, cast)
    assert found.half.peak_flops_per_second == 2500e12
    assert found.weight_gradient.output_bytes == 8
    constants = found.constants
    ratio = {0: constants.half_ratio, 8: constants.four_bit_ratio}.get(cast, constants.eight_bit_ratio)
    assert found.speed == found.sustained_ratio * ratio


def test_unfused_attention_has_no_engine(catalog):
    assert engines(catalog, TrainingPrecision.BF16, AttentionKernel.UNFUSED).attention is None


def test_deepspeed_trains_megatrons_layers():
    assert framework_class(Framework.DEEPSPEED) == "megatron"
    assert framework_class(Framework.FSDP) == "fsdp"
