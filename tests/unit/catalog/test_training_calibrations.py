"""Training constants as the file has them."""

import pytest

from service.catalog.training_calibrations import load_training_calibrations
from service.errors import CatalogDefect


def test_a_set_for_each_generation(catalog):
    training = catalog.training
    assert training.generation("hopper") == "hopper"
    assert training.generation("cdna3") == "other"
    assert training.constants("cdna3", "fsdp") == training.sets["other", "fsdp"]
    assert training.constants("blackwell", "fsdp") == training.sets["other", "fsdp"]
    assert training.constants("ampere", "megatron") != training.constants("hopper", "megatron")
    assert all(0 < each.half_ratio < 2 for each in training.sets.values())


def test_the_last_stratum_holds_everything(catalog):
    assert catalog.training.residual("other", "megatron", "dense").rows > 0


def test_a_file_that_does_not_hold_together(tmp_path):
    with pytest.raises(CatalogDefect):
        load_training_calibrations(tmp_path)
