"""Published step times."""

from service.catalog.training_measurements import training_points
from service.planning.training_accuracy import asked_points


def asked(catalog, *names):
    return list(asked_points([p for p in training_points() if p.id in names], catalog))


def test_flops_become_time_by_the_sources_count(catalog):
    """LLAMA3-001: 2048 × 8192 tokens at 430 TFLOP/s on each of 8192 GPUs; 6 N s plus causal attention."""
    (point,) = asked(catalog, "LLAMA3-001")
    flops = 6 * 403.6e9 + 6 * 126 * 8192 * 16384
    assert abs(point.measured_seconds / (2048 * 8192 * flops / (8192 * 430e12)) - 1) < 0.01


def test_constants_can_be_tried(catalog):
    (point,) = asked(catalog, "SEQPAR-002")
    constants = point.scene.engines.constants
    assert point.predicted_seconds(catalog, constants) == point.predicted_seconds(catalog)
    assert point.calibration_key(catalog) == ("ampere", "megatron")
