"""The range: as wide as the measurements leave it, never under physics, and holding a near tie."""

import dataclasses
import math

import pytest

from service.catalog.calibrations import Calibration, Calibrations, Residual
from service.catalog.fabric_calibrations import FabricCalibration, FabricCalibrations
from service.core.collectives.algorithms import Candidate
from service.core.collectives.cost import Algorithm, Collective, CollectiveCost, Protocol
from service.core.hardware import Accelerator, ScaleOut, ScaleUp, System, Topology
from service.core.placement import Placement
from service.planning.collective_range import collective_range

SYSTEM = System(
    "box",
    "box",
    Accelerator("gpu", "gpu", "v", "hopper", {}, 80e9, 3e12),
    8,
    ScaleUp("nvlink4", Topology.SWITCH, 450e9, 900e9, 450e9, 8),
    None,
    64,
)
BANDS = (Residual(1e6, 0.9, 1.2, 100), Residual(math.inf, 0.95, 1.1, 50))
MEASURED = Calibration(
    "c",
    frozenset(),
    frozenset(),
    {},
    BANDS,
    frozenset({("gpu", "all_reduce", 8)}),
    1e9,
    "c.yaml",
    measured_systems=frozenset({"box"}),
)
STAND_IN = Calibration("u", frozenset(), frozenset(), {}, (Residual(math.inf, 0.6, 2.5, 0),), frozenset(), 0, "u.yaml")


FABRICS = FabricCalibrations(
    (FabricCalibration("ib", frozenset({"ib-a", "ib-b"}), 0.9, 1e-5, frozenset({"ib-a"})),), 0.8, 1.5, 200
)
ALL = Calibrations((MEASURED,), STAND_IN, {}, FABRICS, (Residual(math.inf, 0.8, 2.0, 30),))


def way(seconds, believed, protocol=Protocol.SIMPLE):
    return Candidate(Algorithm.RING, protocol, CollectiveCost(0.0, seconds, 1.0, 1), believed)


def bounds(collective=Collective.ALL_REDUCE, n=8, size=10**5, rivals=(), calibration=MEASURED, bound=0.0, believed=1.0):
    chosen = way(1.0, believed)
    placement = Placement(n, min(n, 8), n)
    return collective_range(SYSTEM, collective, placement, size, chosen, (chosen, *rivals), calibration, ALL, bound)


def test_the_band_of_the_size_gives_the_width():
    assert (bounds().low, bounds().high, bounds().basis_kind) == (0.9, 1.2, "measured")
    assert (bounds(size=10**8).low, bounds(size=10**8).high) == (0.95, 1.1)


def test_another_gpu_count_or_a_larger_size_is_less_sure():
    """0.9 and 1.2 to the power 1.5: 0.854 and 1.315."""
    answer = bounds(n=6)
    assert answer.basis_kind == "calibrated"
    assert (answer.low, answer.high) == pytest.approx((0.8538, 1.3145), rel=1e-3)
    assert bounds(size=2 * 10**9).basis_kind == "calibrated"


def test_each_doubling_past_the_largest_group_adds_a_tenth():
    """32 GPUs are two doublings past 8: 1.3145 × 1.2."""
    answer = bounds(n=32)
    assert answer.high == pytest.approx(1.3145 * 1.2, rel=1e-3)
    assert "no group above 8 GPUs" in answer.basis


def test_a_host_that_was_not_measured_has_the_width_of_public_runs():
    answer = bounds(calibration=dataclasses.replace(MEASURED, measured_systems=frozenset({"another"})))
    assert (answer.low, answer.high, answer.basis_kind) == (0.8, 2.0, "calibrated")
    assert "box itself was not measured, 30 public runs" in answer.basis


def test_nothing_measured_is_wide():
    answer = bounds(calibration=STAND_IN)
    assert (answer.low, answer.high, answer.basis_kind) == (0.6, 2.5, "speed_of_light")


def test_an_unvalidated_collective_is_wide():
    answer = bounds(collective=Collective.BROADCAST)
    assert (answer.low, answer.high, answer.basis_kind) == (0.6, 2.5, "calibrated")


def test_the_range_never_goes_under_physics():
    assert bounds(bound=0.97).low == 0.97


def test_a_near_tie_is_inside():
    """NCCL finds the rival 5 % slower, so it may take it; it takes 1.7 s. One 20 % slower is no rival."""
    assert bounds(rivals=(way(1.7, 1.05, Protocol.LL),)).high == 1.7
    assert bounds(rivals=(way(1.7, 1.2, Protocol.LL),)).high == 1.2


def over(network, num_domains):
    system = dataclasses.replace(SYSTEM, scale_out=ScaleOut(network, 50e9, 1.0))
    placement = Placement(8 * num_domains, 8, 8)
    chosen = way(1.0, 1.0)
    return collective_range(system, Collective.ALL_REDUCE, placement, 10**8, chosen, (chosen,), MEASURED, ALL, 0.0)


def test_between_domains_the_fabrics_residuals_count():
    assert (over("ib-a", 2).low, over("ib-a", 2).high) == (0.8, 1.5)


def test_an_unmeasured_network_is_less_sure():
    """0.8 and 1.5 to the power 1.5: 0.7155 and 1.8371."""
    answer = over("ib-b", 2)
    assert (answer.low, answer.high) == pytest.approx((0.7155, 1.8371), rel=1e-3)
    assert "stands in" in answer.basis


def test_many_domains_are_less_sure():
    """32 are two doublings past 8: × 1.2."""
    assert over("ib-a", 32).high == pytest.approx(1.8)
