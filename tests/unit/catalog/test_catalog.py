"""Look-ups: ids, aliases, inline objects, custom entries, and the revision that covers them."""

import pytest

from service.catalog.catalog import validate_new_entry
from service.catalog.documents import EntryKind
from service.core.hardware import Topology
from service.errors import AmbiguousAlias, CatalogEntryConflict, InvalidCatalogEntry, UnknownCatalogEntry
from tests.unit.catalog.documents_of import CARD, MODEL


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("h100", "dgx-h100"),
        ("8xH100", "dgx-h100"),
        ("HGX-H100", "dgx-h100"),
        ("DGX-H100", "dgx-h100"),
        ("a100", "dgx-a100"),
        ("h200", "dgx-h200"),
        ("b200", "dgx-b200"),
        ("b300", "dgx-b300"),
        ("gb200", "gb200-nvl72"),
        ("gb300", "gb300-nvl72"),
        ("aws-p5", "aws-p5.48xlarge"),
        ("p5.48xlarge", "aws-p5.48xlarge"),
        ("gcp-a3-mega", "gcp-a3-megagpu-8g"),
        ("a3-megagpu-8g", "gcp-a3-megagpu-8g"),
        ("mi300x", "azure-nd96isr-mi300x-v5"),
    ],
)
def test_what_people_type_for_systems(shipped, typed, meant):
    assert shipped.system(typed).id == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("llama3-70b", "llama3-70b"),
        ("llama-3-70b", "llama3-70b"),
        ("meta-llama/Meta-Llama-3-70B", "llama3-70b"),
        ("meta-llama/Llama-3.1-70B", "llama3.1-70b"),
        ("META-LLAMA/llama-3.1-405b", "llama3.1-405b"),
        ("gpt-3", "gpt3-175b"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"),
        ("megatron-530b", "megatron-530b"),
        ("gpt2", "gpt2"),
    ],
)
def test_what_people_type_for_models(shipped, typed, meant):
    assert shipped.model(typed).id == meant


def test_what_people_type_for_accelerators(shipped):
    assert shipped.accelerator("h100-sxm").id == "h100-sxm5-80gb"
    assert shipped.accelerator("L40S").id == "l40s"


@pytest.mark.parametrize(
    ("kind", "typed", "some"),
    [
        ("models", "llama-70b", {"llama2-70b", "llama3-70b", "llama3.1-70b", "llama3.3-70b"}),
        ("accelerators", "a100", {"a100-sxm4-40gb", "a100-sxm4-80gb", "a100-pcie-40gb", "a100-pcie-80gb"}),
        ("accelerators", "h100", {"h100-sxm5-80gb", "h100-pcie-80gb", "h100-nvl-94gb"}),
        ("systems", "nvl72", {"gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72"}),
    ],
)
def test_what_is_ambiguous(shipped, kind, typed, some):
    with pytest.raises(AmbiguousAlias) as refused:
        shipped.entry(kind, typed)
    assert set(refused.value.problems[0].allowed) == some


def test_nothing_is_guessed_from_a_prefix(shipped):
    with pytest.raises(UnknownCatalogEntry) as refused:
        shipped.system("dgx-h10")
    assert refused.value.problems[0].suggestion == "dgx-h100"
    assert refused.value.problems[0].pointer == "/system"


@pytest.mark.parametrize(
    ("system", "per_direction", "pair", "domain", "node", "network"),
    [
        ("dgx-a100", 300e9, 300e9, 8, 8, 25e9),  # 12 links x 25; HDR 200 Gbit/s
        ("dgx-h100", 450e9, 450e9, 8, 8, 50e9),  # 18 x 25; NDR 400
        ("dgx-b200", 900e9, 900e9, 8, 8, 50e9),  # 18 x 50
        ("dgx-b300", 900e9, 900e9, 8, 8, 100e9),  # XDR 800
        ("gb200-nvl72", 900e9, 900e9, 72, 4, 50e9),
        ("dgx-1v", 150e9, 25e9, 8, 8, 6.25e9),  # 6 x 25, a pair has one or two; 50 Gbit/s a GPU
        ("azure-nd96isr-mi300x-v5", 448e9, 64e9, 8, 8, 50e9),  # 7 x 64, a pair has one
        ("aws-p4d.24xlarge", 300e9, 300e9, 8, 8, 6.25e9),  # 400 Gbit/s for eight
        ("gcp-a3-megagpu-8g", 450e9, 450e9, 8, 8, 25e9),  # 1600, not the headline's 1800
        ("azure-nd128isr-gb200-v6", 900e9, 900e9, 72, 4, 50e9),
    ],
)
def test_rates_are_one_way_and_per_gpu(shipped, system, per_direction, pair, domain, node, network):
    found = shipped.system(system)
    assert found.scale_up.bandwidth_bytes_per_second == per_direction
    assert found.scale_up.bidirectional_bytes_per_second == 2 * per_direction
    assert found.scale_up.pair_bandwidth_bytes_per_second == pair
    assert (found.scale_up.domain_gpus, found.gpus_per_node) == (domain, node)
    assert found.scale_out.bandwidth_bytes_per_second == network


def test_the_switch_adds_from_hopper_on(shipped):
    adds = {
        name: shipped.system(name).scale_up.in_switch_reduction for name in ("dgx-2", "dgx-a100", "dgx-h100", "gb200")
    }
    assert adds == {"dgx-2": False, "dgx-a100": False, "dgx-h100": True, "gb200": True}


def test_inline_systems(shipped):
    boards = shipped.system({"accelerator": "l40s", "gpus_per_node": 8, "scale_up": {"topology": "pcie"}})
    assert (boards.scale_up.topology, boards.scale_up.bandwidth_bytes_per_second) == (Topology.PCIE, 31.5e9)  # PCIe 4
    assert (boards.max_gpus, boards.scale_out) == (8, None)
    pair = shipped.system({"accelerator": "h100-pcie", "gpus_per_node": 8, "scale_up": {"topology": "bridge"}})
    assert (pair.scale_up.domain_gpus, pair.scale_up.bandwidth_bytes_per_second) == (2, 300e9)
    rented = {
        "accelerator": "a100-sxm4-40gb",
        "gpus_per_node": 8,
        "scale_out": {"network": "roce-100", "nics_per_gpu": 2},
    }
    assert shipped.system(rented).scale_out.bandwidth_bytes_per_second == 25e9


@pytest.mark.parametrize("kind", list(EntryKind))
def test_what_is_given_out_can_be_sent_back(shipped, kind):
    for entry in shipped.entries(kind):
        sent = dict(entry.document)
        assert shipped.checked(kind, sent) == {key: value for key, value in sent.items() if key != "derived"}


def test_the_same_system_inline_is_the_same_system(shipped):
    for entry in shipped.entries("systems"):
        if entry.document["derived"]["askable"]:
            assert shipped.system(dict(entry.document)) == shipped.system(entry.id)


def test_every_problem_of_an_inline_system(shipped):
    inline = {"accelerator": "h1000", "gpus_per_node": 0, "colour": "red", "scale_out": {"network": "carrier-pigeon"}}
    with pytest.raises(InvalidCatalogEntry) as refused:
        shipped.system(inline)
    assert {problem.pointer for problem in refused.value.problems} == {
        "/system/accelerator",
        "/system/gpus_per_node",
        "/system/colour",
        "/system/scale_out/network",
    }


@pytest.mark.parametrize("name", [None, 5, True, ["dgx-h100"], 1.5])
def test_what_is_neither_name_nor_object(shipped, name):
    with pytest.raises(InvalidCatalogEntry):
        shipped.system(name)


def test_deep_nests_are_no_trouble(shipped):
    nest: dict = {}
    for _ in range(500):
        nest = {"scale_up": nest, "accelerator": nest}
    with pytest.raises(InvalidCatalogEntry):
        shipped.system(nest)


def test_a_cluster_without_an_accelerator_is_listed_only(shipped):
    entry = shipped.entry("systems", "nvidia-hgx-ethernet-reference")
    assert entry.document["derived"]["askable"] is False
    with pytest.raises(InvalidCatalogEntry, match="names no accelerator"):
        shipped.system(entry.id)


def test_a_custom_entry_is_there_at_once_and_changes_the_revision(shipped):
    card = validate_new_entry("accelerators", {**CARD, "id": "mine", "aliases": ["my-card"]}, shipped)
    merged = shipped.with_custom([("accelerators", card, 3)])
    assert merged.accelerator("My-Card").id == "mine"
    assert (merged.entry("accelerators", "mine").origin, merged.entry("accelerators", "mine").revision) == ("custom", 3)
    assert merged.revision != shipped.revision
    assert merged.revision == shipped.with_custom([("accelerators", card, 3)]).revision
    assert merged.revision != shipped.with_custom([("accelerators", card, 4)]).revision
    with pytest.raises(UnknownCatalogEntry):
        shipped.accelerator("mine")


def test_a_custom_system_of_a_custom_accelerator(shipped):
    links = {"network": "nvlink4", "topology": "mesh", "bandwidth_per_direction_bytes_per_second": 70e9}
    card = validate_new_entry("accelerators", {**CARD, "id": "mine", "scale_up": links}, shipped)
    merged = shipped.with_custom([("accelerators", card, 1)])
    node = validate_new_entry("systems", {"id": "node", "accelerator": "mine", "gpus_per_node": 8}, merged)
    up = merged.with_custom([("systems", node, 1)]).system("node").scale_up
    assert (up.bandwidth_bytes_per_second, up.pair_bandwidth_bytes_per_second) == (70e9, 10e9)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"id": "gpt2"}, "/id"), ({"id": "gpt-3"}, "/id"), ({"id": "new", "aliases": ["x", "LLAMA-70b"]}, "/aliases/1")],
)
def test_names_that_are_taken(shipped, changes, pointer):
    with pytest.raises(CatalogEntryConflict) as refused:
        validate_new_entry("models", {**MODEL, **changes}, shipped)
    assert refused.value.problems[0].pointer == pointer


def test_a_new_entry_needs_an_id_and_everything_else_is_told_too(shipped):
    with pytest.raises(InvalidCatalogEntry) as refused:
        validate_new_entry("models", {**MODEL, "num_layers": 0}, shipped)
    assert {problem.pointer for problem in refused.value.problems} == {"/id", "/num_layers"}


def test_a_new_system_that_could_not_be_asked_about(shipped):
    with pytest.raises(InvalidCatalogEntry):
        validate_new_entry("systems", {"id": "empty", "kind": "cluster"}, shipped)


def test_a_kept_entry_that_no_longer_holds_together_is_refused(shipped):
    kept = {"id": "node", "accelerator": "gone", "gpus_per_node": 8}
    merged = shipped.with_custom([("systems", kept, 1)])
    with pytest.raises(InvalidCatalogEntry):
        merged.system("node")
    assert merged.entry("systems", "node").document["derived"]["askable"] is False


def test_entries_are_in_order(shipped):
    for kind in EntryKind:
        ids = [entry.id for entry in shipped.entries(kind)]
        assert ids == sorted(ids)
    assert [len(shipped.entries(kind)) for kind in EntryKind] == [49, 73, 45, 122]
