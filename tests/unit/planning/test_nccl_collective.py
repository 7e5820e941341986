"""NCCL from a CUDA graph: the time of nccl-tests, which hides the CPU too; less sure where nothing was measured."""

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Collective
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion

CATALOG = load_shipped_catalog()


def ask(size_bytes, launch):
    question = CollectiveQuestion("dgx-h100", Collective.ALL_REDUCE, 8, size_bytes=size_bytes, launch=launch)
    return estimate_collective(question, CATALOG)


def test_a_graph_changes_the_range_and_not_the_time():
    for size_bytes in (4096, 1 << 26):
        eager, graph = ask(size_bytes, "eager"), ask(size_bytes, "graph")
        assert graph.result == eager.result
        assert graph.range.low < eager.range.low
        assert graph.range.high > eager.range.high
        assert "graph-as-eager" in {warning.code for warning in graph.warnings}
        assert graph.inputs["launch"] == "graph"


def test_small_buffers_in_a_graph_were_not_measured():
    assert ask(4096, "graph").range.basis_kind == "calibrated"
    assert ask(1 << 26, "graph").range.basis_kind == "measured"
