"""The shape of a network: anything that joins accelerators, or an accelerator and its host."""

from __future__ import annotations

from service.catalog.schemas.accelerators import TOPOLOGIES
from service.catalog.schemas.entry import EntrySchema
from service.catalog.schemas.fields import Count, Flag, OneOf, Quantity, Ratio, Text, TextList

NETWORK_KINDS = (
    "nvlink",
    "chip_to_chip",
    "nvswitch",
    "pcie",
    "infiniband",
    "ethernet",
    "omni_path",
    "cloud_fabric",
    "infinity_fabric",
    "ici",
    "neuronlink",
    "roce_scale_up",
)


class NetworkSchema(EntrySchema):
    """One generation or variant of a network."""

    kind = OneOf(NETWORK_KINDS, required=True)
    generation = Text(max_length=40)
    provider = Text(max_length=40)
    instances = TextList()
    used_by = TextList()
    status = Text(max_length=100)
    year = Count(low=1990, high=2100)
    topology = OneOf(TOPOLOGIES)
    torus_dimensions = Count(high=6)
    # One GPU's (or one port's) rates.
    links = Count(high=1000)
    bandwidth_per_link_per_direction_bytes_per_second = Quantity("bytes_per_second")
    bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    bandwidth_bidirectional_bytes_per_second = Quantity("bytes_per_second")
    pair_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    lane_rate_per_direction_bytes_per_second = Quantity("bytes_per_second")
    lanes_per_link = Count(high=64)
    signalling_bandwidth_per_link_bytes_per_second = Quantity("bytes_per_second")
    signalling_rate_bytes_per_second = Quantity("bytes_per_second")
    transfer_rate_transfers_per_second = Quantity("transfers_per_second")
    encoding = Text(max_length=60)
    vendor_prints_bandwidth_bidirectional_bytes_per_second = Quantity("bytes_per_second")
    # Torus and NeuronLink.
    neighbour_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    neighbours_in_instance = Count(high=64)
    cross_instance_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    # RoCE scale-up (Gaudi).
    ports = Count(high=1000)
    ports_to_peers = Count(high=1000)
    ports_to_network = Count(high=1000)
    port_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    # Switches.
    in_switch_reduction = Flag()
    reduction_bandwidth_bytes_per_second = Quantity("bytes_per_second")
    bisection_bandwidth_bytes_per_second = Quantity("bytes_per_second")
    aggregate_bandwidth_bidirectional_bytes_per_second = Quantity("bytes_per_second")
    all_to_all_bandwidth_bytes_per_second = Quantity("bytes_per_second")
    domain_gpus = Count(high=1_000_000)
    chips_per_node = Count(high=1000)
    chips = Count(high=10_000)
    switch_trays = Count(high=1000)
    ports_per_switch = Count(high=100_000)
    switch_capacity_bytes_per_second = Quantity("bytes_per_second")
    switch_product = Text(max_length=200)
    adapter = Text(max_length=100)
    taper_ratio = Ratio(0, 1)
    # Cloud fabrics and other node-to-node networks.
    nics_per_node = Count(high=1000)
    gpus_per_node = Count(high=1000)
    nic_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    node_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    bandwidth_per_gpu_per_direction_bytes_per_second = Quantity("bytes_per_second")
    headline_bandwidth_bytes_per_second = Quantity("bytes_per_second")
    rack_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    # Latencies that somebody published for a part, not for a protocol.
    adapter_latency_seconds = Quantity("seconds")
    switch_latency_seconds = Quantity("seconds")
    switch_latency_high_seconds = Quantity("seconds")
    end_to_end_latency_seconds = Quantity("seconds")
    end_to_end_latency_worst_seconds = Quantity("seconds")
