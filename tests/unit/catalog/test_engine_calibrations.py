"""The engines' file, read."""

import pytest

from service.catalog.calibrations import load_calibrations
from service.catalog.engine_calibrations import load_engine_calibrations
from service.errors import CatalogDefect
from service.shipped import shipped_path


def shipped():
    return load_calibrations(shipped_path("hardware_catalog") / "calibrations").engines


def test_every_engine_of_the_api_has_constants():
    assert set(shipped().engines) == {"trtllm", "vllm", "sglang", "generic"}


def test_the_narrowest_stratum_is_taken():
    engines = shipped()
    assert engines.residual("trtllm", "dense", "throughput").name == "dense, trtllm, throughput"
    assert engines.residual("generic", "dense", "throughput").name == "dense, throughput"
    assert engines.residual("generic", "dense", "latency").name == "dense"


def test_the_range_of_every_stratum_holds_the_prediction():
    for residual in shipped().residuals:
        assert residual.low_ratio < 1 < residual.high_ratio


@pytest.mark.parametrize("text", ["engines: {}", "engines: {generic: {layer: fast}}\nresiduals: []"])
def test_what_does_not_hold_together_is_named(text, tmp_path):
    (tmp_path / "inference-engines.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogDefect, match="inference-engines"):
        load_engine_calibrations(tmp_path)
