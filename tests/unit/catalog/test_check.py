"""The check bites: break one thing in a copy of the shipped files, and it is named."""

import pytest

from service.catalog.check import check_catalog


def test_what_is_shipped_has_no_defect():
    assert [str(defect) for defect in check_catalog()] == []


@pytest.mark.parametrize(
    ("file", "old", "new", "key"),
    [
        ("model_catalog/llama3-70b.yaml", "num_layers: 80", "num_layers: 81", "parameters_published"),
        ("model_catalog/gpt3-350m.yaml", "published_is_label", "#", "parameters_published"),
        (
            "model_catalog/gpt2.yaml",
            "parameters_published: 124439808",
            "parameters_published: 124439808\npublished_is_label: no reason",
            "published_is_label",
        ),
        ("model_catalog/gpt2.yaml", "aliases: [", "aliases: [gpt2-xl, ", "aliases"),
        ("model_catalog/gpt2.yaml", "aliases: [", "aliases: [GPT-2, ", "aliases"),
        (
            "hardware_catalog/systems/dgx-h100.yaml",
            "accelerator: h100-sxm5-80gb",
            "accelerator: h100-sxm6",
            "/accelerator",
        ),
        (
            "hardware_catalog/systems/dgx-h100.yaml",
            "network: infiniband-ndr",
            "network: infiniband-hdr",
            "scale_out/bandwidth_per_gpu",
        ),
        ("hardware_catalog/systems/dgx-h100.yaml", "max_gpus: 65536", "#", "/figure_sources"),
        ("hardware_catalog/systems/dgx-h100.yaml", "gpus: 8", "gpus: 9\nnodes: 1", "/gpus"),
        ("hardware_catalog/accelerators/h100-sxm5-80gb.yaml", "network: pcie5", "network: pcie9", "/host_link/network"),
        (
            "hardware_catalog/accelerators/h100-sxm5-80gb.yaml",
            "bidirectional: 900 GB/s",
            "bidirectional: 450 GB/s",
            "/scale_up/bandwidth_bidirectional_bytes_per_second",
        ),
        (
            "hardware_catalog/accelerators/h100-sxm5-80gb.yaml",
            "tf32: 494.7 TFLOP/s",
            "tf32: 1100 TFLOP/s",
            "/dense_peaks_flops_per_second/bf16",
        ),
        (
            "hardware_catalog/networks/nvlink5.yaml",
            "links: 18",
            "links: 17",
            "/bandwidth_per_direction_bytes_per_second",
        ),
        ("hardware_catalog/networks/nvlink5.yaml", '    dated: "2026-12-01"', "", "sources"),
        ("hardware_catalog/networks/pcie5.yaml", "63 GB/s", "63", "bandwidth_per_direction"),
    ],
)
def test_one_thing_broken(copied, file, old, new, key):
    name, _, rest = file.partition("/")
    path = copied[name] / rest
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert (file, key) in {(defect.where, defect.key) for defect in check_catalog(copied)}
