"""Which ways there are: each rule alone."""

import dataclasses

import pytest

from service.core.collectives.algorithms import ALGORITHMS
from service.core.collectives.availability import Circumstances, circumstances, why_not
from service.core.collectives.cost import Algorithm, Collective
from service.core.numerics import Dtype
from tests.collective_paths import across, within

INSIDE = Circumstances(True, False, False, False, False, True, True, (2, 30, 7))
BETWEEN = dataclasses.replace(INSIDE, several_domains=True, network_adds=True)
ALL_REDUCE, ALL_GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER


def reason(algorithm, here, collective=ALL_REDUCE, dtype=Dtype.BF16):
    return why_not(algorithm, frozenset(ALGORITHMS[algorithm].costs), collective, dtype, here)


@pytest.mark.parametrize(
    ("algorithm", "here", "collective"),
    [
        (Algorithm.RING, INSIDE, ALL_REDUCE),
        (Algorithm.NVLS, INSIDE, ALL_REDUCE),
        (Algorithm.NVLS_TREE, BETWEEN, ALL_REDUCE),
        (Algorithm.COLLNET, BETWEEN, ALL_REDUCE),
        (Algorithm.PAT, dataclasses.replace(BETWEEN, one_rank_a_domain=True), ALL_GATHER),
        (Algorithm.SYMMETRIC, INSIDE, ALL_GATHER),
        (Algorithm.COPY_ENGINE, INSIDE, ALL_GATHER),
    ],
)
def test_available(algorithm, here, collective):
    assert reason(algorithm, here, collective) is None


@pytest.mark.parametrize(
    ("algorithm", "here", "changes", "collective", "words"),
    [
        (Algorithm.NVLS, INSIDE, {"switch_adds": False}, ALL_REDUCE, "no switch that can add"),
        (Algorithm.NVLS, INSIDE, {"nccl_version": (2, 16)}, ALL_REDUCE, "from 2.17 on"),
        (Algorithm.NVLS, BETWEEN, {}, ALL_REDUCE, "spans one domain"),
        (Algorithm.NVLS_TREE, INSIDE, {}, ALL_REDUCE, "joins several domains"),
        (Algorithm.NVLS_TREE, BETWEEN, {"joins_hosts": True}, ALL_REDUCE, "MNNVL"),
        (Algorithm.NVLS_TREE, BETWEEN, {"one_rank_a_domain": True}, ALL_REDUCE, "alone in its domain"),
        (Algorithm.COLLNET, INSIDE, {}, ALL_REDUCE, "in one domain"),
        (Algorithm.COLLNET, BETWEEN, {"network_adds": False}, ALL_REDUCE, "SHARP"),
        (Algorithm.COLLNET, BETWEEN, {"joins_hosts": True}, ALL_REDUCE, "8 ranks a host"),
        (Algorithm.PAT, BETWEEN, {}, ALL_GATHER, "one rank a domain"),
        (Algorithm.PAT, BETWEEN, {"one_rank_a_domain": True, "nccl_version": (2, 22, 3)}, ALL_GATHER, "from 2.23 on"),
        (Algorithm.SYMMETRIC, INSIDE, {"registered_buffers": False}, ALL_REDUCE, "registered_buffers"),
        (Algorithm.SYMMETRIC, INSIDE, {"nccl_version": (2, 26, 2)}, ALL_REDUCE, "from 2.27 on"),
        (Algorithm.SYMMETRIC, INSIDE, {"has_symmetric_kernels": False}, ALL_REDUCE, "from Hopper on"),
        (Algorithm.SYMMETRIC, BETWEEN, {}, ALL_REDUCE, "one NVLink domain"),
        (Algorithm.COPY_ENGINE, INSIDE, {"nccl_version": (2, 27, 3)}, ALL_GATHER, "from 2.28 on"),
        (Algorithm.COPY_ENGINE, INSIDE, {}, ALL_REDUCE, "not for all_reduce"),
    ],
)
def test_not_available(algorithm, here, changes, collective, words):
    assert words in reason(algorithm, dataclasses.replace(here, **changes), collective)


@pytest.mark.parametrize("algorithm", [Algorithm.NVLS, Algorithm.SYMMETRIC])
def test_only_floats_are_added_in_the_switch(algorithm):
    assert "int8" in reason(algorithm, INSIDE, dtype=Dtype.INT8)


def test_circumstances_are_read_off_the_path():
    assert not circumstances(within(8)).several_domains
    far = circumstances(across(4, 1))
    assert far.several_domains
    assert far.one_rank_a_domain
