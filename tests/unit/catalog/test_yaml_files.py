"""Shipped files: the data sheet's language in, SI out, and every defect with its file and key."""

import pytest

from service.catalog.documents import EntryKind
from service.catalog.yaml_files import read_entry_file

CARD = """
id: one
vendor: acme
architecture: one
dense_peaks: {bf16: 989.4 TFLOP/s, int8: 1978.9 TOP/s}
memory_marketed: 80 GB
memory_usable: 81559 MiB
memory_bandwidth: 3.35 TB/s
scale_up: {network: nvlink4, links: 18, bandwidth_per_direction: 450 GB/s}
prices: [{price: 98.32 USD/h, per: host, terms: on demand, dated: 2026-05-25}]
alternatives:
  - {figure: dense_peaks/bf16, value: 1979 TFLOP/s, according_to: "the page, with sparsity"}
  - {figure: scale_up/links, value: 12, according_to: somebody}
sources: [{url: "https://acme.example", evidence: read, dated: 2026-12-01}]
figure_sources: {scale_up/links: {evidence: recall}}
"""


def read(tmp_path, text, name="one.yaml"):
    path = tmp_path / "accelerators" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_entry_file(EntryKind.ACCELERATORS, path, tmp_path)


def defects(tmp_path, old, new):
    assert old in CARD
    document, found = read(tmp_path, CARD.replace(old, new))
    assert document is None
    assert all(defect.where == "accelerators/one.yaml" for defect in found)
    return {defect.key: defect.why for defect in found}


def test_names_and_values_become_si(tmp_path):
    document, found = read(tmp_path, CARD)
    assert found == []
    assert document["memory_bandwidth_bytes_per_second"] == 3.35e12
    assert document["memory_marketed_bytes"] == 80_000_000_000
    assert document["memory_usable_bytes"] == 85_520_809_984
    assert document["dense_peaks_flops_per_second"] == {"bf16": 9.894e14, "int8": 1.9789e15}
    assert document["scale_up"]["bandwidth_per_direction_bytes_per_second"] == 450e9
    assert document["prices"][0] == {
        "price_usd_per_hour": 98.32,
        "per": "host",
        "terms": "on demand",
        "dated": "2026-05-25",
    }


def test_other_values_keep_their_unit(tmp_path):
    document, _ = read(tmp_path, CARD)
    peak, links = document["alternatives"]
    assert (peak["figure"], peak["value"], peak["unit"]) == (
        "/dense_peaks_flops_per_second/bf16",
        1.979e15,
        "flops_per_second",
    )
    assert (links["figure"], links["value"]) == ("/scale_up/links", 12)
    assert document["figure_sources"]["/scale_up/links"]["evidence"] == "recall"


@pytest.mark.parametrize("value", ["450", "80GB", "80 gb", "80 GB/s", "-80 GB", "[80 GB]", "true", "null", "0 GB"])
def test_a_quantity_without_its_unit(tmp_path, value):
    found = defects(tmp_path, "memory_marketed: 80 GB", f"memory_marketed: {value}")
    assert len(found) == 1
    assert next(iter(found)).strip("/").startswith("memory_marketed")


def test_every_defect_is_told(tmp_path):
    found = defects(tmp_path, "memory_bandwidth: 3.35 TB/s\n", "memory_bandwidth: 3350\nl2_cash: 50 MiB\ntdp: 700 kg\n")
    assert set(found) == {"memory_bandwidth", "l2_cash", "tdp"}
    assert "did you mean 'l2_cache'" in found["l2_cash"]


def test_the_json_name_is_not_a_files_name(tmp_path):
    found = defects(tmp_path, "memory_bandwidth: 3.35 TB/s", "memory_bandwidth_bytes_per_second: 3.35e12")
    assert "write 'memory_bandwidth'" in found["memory_bandwidth_bytes_per_second"]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("id: one", "id: two", "id"),
        ("vendor: acme\n", "", "/vendor"),
        ("vendor: acme", "vendor: acme\nvendor: other", ""),
        ("vendor: acme", "vendor: [", ""),
        ("network: nvlink4", "network: {kind: nvlink}", "scale_up/network"),
        ("figure: scale_up/links", "figure: scale_up/lanes", "alternatives/1/figure"),
        ("{scale_up/links: {evidence", "{scale_up/lanes: {evidence", "figure_sources"),
        ("{scale_up/links: {evidence: recall}}", "{tdp: {evidence: recall}}", "/figure_sources"),
        ("evidence: read", "evidence: rumour", "/sources/0/evidence"),
        (
            "links: 18",
            "links: 18, bandwidth_bidirectional: 450 GB/s",
            "/scale_up/bandwidth_bidirectional_bytes_per_second",
        ),
    ],
)
def test_what_else_is_refused(tmp_path, old, new, key):
    assert list(defects(tmp_path, old, new)) == [key]


@pytest.mark.parametrize(
    "text", ["", "- a\n- b\n", "just words", b"\xff\xfe\x00", "!!python/object/apply:os.system [ls]"]
)
def test_what_is_no_entry(tmp_path, text):
    document, found = read(tmp_path, text)
    assert document is None
    assert found
