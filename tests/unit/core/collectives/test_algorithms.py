"""The table: what can do what, and what NCCL takes."""

import dataclasses
import importlib
from pathlib import Path

import pytest

from service.core import collectives
from service.core.collectives.algorithms import ALGORITHMS, candidates, chosen
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.collectives.custom_all_reduce import KERNELS
from service.core.collectives.path import SymmetricConstants
from service.core.numerics import Dtype
from tests.collective_paths import ROUND, across, within


def ways(collective, dtype=Dtype.BF16, num_ranks=8, size_bytes=1 << 26, path=ROUND):
    return {(w.algorithm, w.protocol): w for w in candidates(collective, dtype, num_ranks, size_bytes, path)}


@pytest.mark.parametrize("collective", list(Collective))
def test_every_way_is_timed_or_says_why_not(collective):
    for way in ways(collective).values():
        assert (way.cost is None) == (way.why_not is not None)
    assert any(way.cost for way in ways(collective).values())


def test_every_algorithm_of_the_api_is_listed_but_for_frameworks_kernels():
    assert {algorithm for algorithm, _ in ways(Collective.ALL_REDUCE)} == set(Algorithm) - set(KERNELS)


def test_the_switch_adds_floats_only():
    """int8 all-reduce stays on the ring: 352 GB/s busbw measured on 8 H100 where fp16 gets 445."""
    nvls = (Algorithm.NVLS, Protocol.SIMPLE)
    assert ways(Collective.ALL_REDUCE, Dtype.FP16)[nvls].cost is not None
    assert "does not add int8" in ways(Collective.ALL_REDUCE, Dtype.INT8)[nvls].why_not


def test_no_switch_no_nvls():
    path = dataclasses.replace(ROUND, nvls=None)
    way = ways(Collective.ALL_REDUCE, path=path)[Algorithm.NVLS, Protocol.SIMPLE]
    assert "no switch that can add" in way.why_not


def test_all_gather_stays_on_the_ring():
    way = ways(Collective.ALL_GATHER)[Algorithm.NVLS, Protocol.SIMPLE]
    assert "registered" in way.why_not


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (1 << 20, (Algorithm.RING, Protocol.LL)),  # 15 + 13.0 us against 25 + 3.9: equal at 1.14 MiB
        (2 << 20, (Algorithm.NVLS, Protocol.SIMPLE)),
        (1 << 34, (Algorithm.NVLS, Protocol.SIMPLE)),
    ],
)
def test_nccl_leaves_the_ring_for_the_switch_between_1_and_2_mib(size_bytes, expected):
    """As stas00/ml-engineering saw on 8 H200: ring/LL to 1 MiB, NVLS from 2 MiB."""
    way = chosen(candidates(Collective.ALL_REDUCE, Dtype.BF16, 8, size_bytes, ROUND))
    assert (way.algorithm, way.protocol) == expected


def test_four_gpus_get_the_ring():
    """4 heads × 60 × 0.85 × 3/4 × 2 = 306 GB/s is under the ring's 370; 5 heads: 5 × 60 × 0.85 × 4/5 × 2 = 408."""
    assert chosen(candidates(Collective.ALL_REDUCE, Dtype.BF16, 4, 1 << 33, within(4))).algorithm is Algorithm.RING
    assert chosen(candidates(Collective.ALL_REDUCE, Dtype.BF16, 5, 1 << 33, within(5))).algorithm is Algorithm.NVLS


def test_every_file_of_an_algorithm_is_in_the_table():
    """A forgotten line fails here: the modules that have COSTS are those of the table."""
    folder = Path(collectives.__file__).parent
    modules = [importlib.import_module(f"service.core.collectives.{path.stem}") for path in folder.glob("[a-z]*.py")]
    listed = {id(module.COSTS) for module in modules if hasattr(module, "COSTS")}
    assert {id(entry.costs) for entry in ALGORITHMS.values()} == listed


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (1024, (Algorithm.TREE, Protocol.LL)),  # as NCCL takes at two nodes of 8 H100: 25 us against 40 by ring
        (1 << 30, (Algorithm.NVLS_TREE, Protocol.SIMPLE)),
    ],
)
def test_two_nodes_take_a_tree_and_then_nvls_tree(size_bytes, expected):
    way = chosen(candidates(Collective.ALL_REDUCE, Dtype.BF16, 16, size_bytes, across(2)))
    assert (way.algorithm, way.protocol) == expected


def test_nvls_spans_one_domain_and_nvls_tree_several():
    inside, between = ways(Collective.ALL_REDUCE), ways(Collective.ALL_REDUCE, num_ranks=16, path=across(2))
    assert inside[Algorithm.NVLS_TREE, Protocol.SIMPLE].why_not
    assert between[Algorithm.NVLS, Protocol.SIMPLE].why_not
    assert between[Algorithm.NVLS_TREE, Protocol.SIMPLE].cost


def test_kernels_on_symmetric_windows_come_first_where_buffers_are_registered():
    path = within(8, symmetric=SymmetricConstants(4e-6, 3e-6, 8e-6, 7e-6), registered_buffers=True)
    small = chosen(candidates(Collective.ALL_REDUCE, Dtype.BF16, 8, 1 << 10, path))
    large = chosen(candidates(Collective.ALL_REDUCE, Dtype.BF16, 8, 1 << 26, path))
    assert (small.algorithm, small.protocol) == (Algorithm.SYMMETRIC, Protocol.LL)
    assert (large.algorithm, large.protocol) == (Algorithm.SYMMETRIC, Protocol.SIMPLE)


def test_copy_engines_and_collnet_are_taken_on_request_only():
    path = within(8, symmetric=SymmetricConstants(4e-6, 3e-6, 8e-6, 7e-6), registered_buffers=True)
    found = candidates(Collective.ALL_TO_ALL, Dtype.BF16, 8, 1 << 30, path)
    assert chosen(found).algorithm is Algorithm.DIRECT
    assert next(w for w in found if w.algorithm is Algorithm.COPY_ENGINE).cost
