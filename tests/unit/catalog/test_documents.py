"""Documents: every problem at once, each with pointer, value, what is allowed and what is near."""

import pytest

from service.catalog.documents import EntryKind, load_document, nearest, schema_problems, shown
from service.errors import InvalidCatalogEntry
from tests.unit.catalog.documents_of import CARD


def by_pointer(document, kind=EntryKind.ACCELERATORS):
    return {problem.pointer: problem for problem in schema_problems(kind, document, "/accelerator")}


def test_a_whole_document_has_no_problem():
    assert schema_problems(EntryKind.ACCELERATORS, CARD) == []


def test_every_problem_is_told_at_once():
    wrong = {
        **CARD,
        "memory_bandwith_bytes_per_second": 3e12,
        "tdp_watts": -700,
        "sm_count": 1.5,
        "dense_peaks_flops_per_second": {"bf16": float("nan"), "bf32": 1e15},
        "scale_up": {"network": "nvlink4", "topology": "SWITCH"},
    }
    del wrong["vendor"]
    problems = by_pointer(wrong)
    assert set(problems) == {
        "/accelerator/vendor",
        "/accelerator/memory_bandwith_bytes_per_second",
        "/accelerator/tdp_watts",
        "/accelerator/sm_count",
        "/accelerator/dense_peaks_flops_per_second/bf16",
        "/accelerator/dense_peaks_flops_per_second/bf32",
        "/accelerator/scale_up/topology",
    }
    assert problems["/accelerator/memory_bandwith_bytes_per_second"].suggestion == "memory_bandwidth_bytes_per_second"
    assert problems["/accelerator/tdp_watts"].value == -700
    assert problems["/accelerator/dense_peaks_flops_per_second/bf16"].value == "nan"
    assert "fp8" in problems["/accelerator/dense_peaks_flops_per_second/bf32"].allowed
    assert problems["/accelerator/scale_up/topology"].suggestion == "switch"


def test_an_inline_accelerator_is_checked_in_its_place():
    problems = schema_problems(
        EntryKind.SYSTEMS, {"accelerator": {**CARD, "tdp_wats": 1}, "gpus_per_node": 8}, "/system"
    )
    assert [(p.pointer, p.suggestion) for p in problems] == [("/system/accelerator/tdp_wats", "tdp_watts")]


@pytest.mark.parametrize("document", [None, [], "h100", 3, True])
def test_what_is_no_object(document):
    with pytest.raises(InvalidCatalogEntry):
        load_document(EntryKind.SYSTEMS, document, "/system")


def test_sizes_may_be_text():
    loaded = load_document(EntryKind.ACCELERATORS, {**CARD, "memory_marketed_bytes": "80GiB"})
    assert loaded["memory_marketed_bytes"] == 85_899_345_920
    with pytest.raises(InvalidCatalogEntry) as refused:
        load_document(EntryKind.ACCELERATORS, {**CARD, "memory_marketed_bytes": "80G"})
    assert refused.value.problems[0].suggestion == "80GB or 80GiB"


def test_every_figure_has_its_source():
    source = {"url": "https://acme.example/one", "evidence": "read"}
    document = {
        **CARD,
        "tdp_watts": 700,
        "sources": [source],
        "figure_sources": {"/tdp_watts": {"evidence": "recall"}},
        "prices": [
            {"price_usd_per_hour": 3, "per": "gpu", "terms": "x", "dated": "2026", "source": "https://p.example"}
        ],
    }
    sources = load_document(EntryKind.ACCELERATORS, document)["figure_sources"]
    assert sources["/memory_bandwidth_bytes_per_second"] == source
    assert sources["/dense_peaks_flops_per_second/bf16"] == source
    assert sources["/tdp_watts"] == {"url": "https://acme.example/one", "evidence": "recall"}
    assert sources["/prices/0/price_usd_per_hour"]["url"] == "https://p.example"
    assert load_document(EntryKind.ACCELERATORS, CARD)["figure_sources"]["/memory_marketed_bytes"] == {
        "evidence": "given"
    }


def test_what_was_loaded_loads_again_as_it_is():
    once = load_document(EntryKind.ACCELERATORS, CARD)
    assert load_document(EntryKind.ACCELERATORS, {**once, "derived": {"anything": 1}}) == once


def test_a_thousand_problems_are_a_hundred():
    assert len(schema_problems(EntryKind.MODELS, {f"key{n}": 1 for n in range(1000)})) == 100


def test_values_are_repeated_in_short():
    assert len(shown("x" * 1_000_000)) < 300
    assert shown({"a": 1}) == "an object of 1 keys"
    assert shown([1, 2]) == "a list of 2 items"
    assert shown(float("inf")) == "inf"
    assert isinstance(shown(10**5000), str)
    assert shown(7) == 7


def test_nearest_cuts_what_is_long():
    assert nearest("dgx-h10", ["dgx-h100", "dgx-a100"]) == "dgx-h100"
    assert nearest("z" * 1_000_000, ["dgx-h100"]) is None
