"""The tables are read, doubted rows left out, repeats become their median."""

from service.catalog.measurements import networked, newest_frameworks, newest_single_node, public_single_domain


def test_only_the_newest_nccl_of_a_system_counts():
    """8 B200, fp16 all-gather of 8 MiB: two runs of NCCL 2.29.2 take 44 us; those of 2.27 and 2.28 are left."""
    (point,) = [
        p
        for p in newest_single_node()
        if (p.system, p.collective, p.dtype, p.gpus, p.size_bytes) == ("dgx-b200", "all_gather", "fp16", 8, 8 << 20)
    ]
    assert point.repeats == 2
    assert 43e-6 < point.seconds < 45e-6
    assert {p.dtype for p in newest_single_node()} == {"fp16", "int8"}


def test_public_rows_have_an_address():
    assert all(p.source.startswith("https://") for p in (*public_single_domain(), *networked()))


def test_network_rates_are_bytes():
    """p4de has 400 Gbit/s for 8 GPUs: 50 Gbit/s, 6.25 GB/s each."""
    assert {p.nic_bytes_per_second for p in networked() if p.table == "AWS p4de.24xlarge"} == {6.25e9}


def test_groups_span_whole_domains():
    for point in networked():
        assert point.gpus % point.gpus_per_domain == 0
        assert point.gpus > point.gpus_per_domain


def test_only_the_newest_version_of_a_framework_counts():
    """8 H100, 8 KiB from a graph: vLLM 0.24.0 takes 5.1 us, TensorRT-LLM 1.3.0rc20 3.5; rc10 and older are left."""
    found = {
        p.implementation: p
        for p in newest_frameworks()
        if (p.system, p.gpus, p.size_bytes, p.launch) == ("dgx-h100", 8, 8192, "graph")
    }
    assert {name: p.version for name, p in found.items()} == {
        "vllm": "0.24.0",
        "sglang": "0.5.14",
        "trtllm": "1.3.0rc20",
    }
    assert 5.0e-6 < found["vllm"].seconds < 5.2e-6
    assert 3.4e-6 < found["trtllm"].seconds < 3.6e-6
