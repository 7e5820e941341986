"""The shape of a system: a node, a rack, a cloud instance, a cluster."""

from __future__ import annotations

from marshmallow import fields

from service.catalog.schemas.accelerators import TOPOLOGIES, AcceleratorSchema, PriceSchema
from service.catalog.schemas.entry import EntrySchema, StrictSchema
from service.catalog.schemas.fields import Count, Flag, OneOf, Quantity, Ratio, Reference, Text
from service.catalog.schemas.networks import NetworkSchema

SYSTEM_KINDS = ("node", "rack", "cloud-instance", "cluster", "baseboard")
MAX_GPUS = 1_000_000


class ScaleUpSchema(StrictSchema):
    """The scale-up domain; what is left out is the accelerator's own."""

    network = Reference("networks", NetworkSchema)
    switch = Reference("networks", NetworkSchema)
    topology = OneOf(TOPOLOGIES)
    domain_gpus = Count(high=MAX_GPUS)
    bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    bandwidth_bidirectional_bytes_per_second = Quantity("bytes_per_second")
    pair_bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    in_switch_reduction = Flag()
    note = Text()


class ScaleOutSchema(StrictSchema):
    """The network between nodes. Bandwidth is per GPU, one way."""

    network = Reference("networks", NetworkSchema, required=True)
    nics_per_gpu = Ratio(0.01, 64)
    bandwidth_per_gpu_bytes_per_second = Quantity("bytes_per_second")
    max_gpus = Count(high=MAX_GPUS)
    max_gpus_reason = Text()
    oversubscription_ratio = Ratio(1, 1000)
    fabric = Text()
    note = Text()


class SystemSchema(EntrySchema):
    """A machine that can be asked about, or a cluster whose facts are kept."""

    kind = OneOf(SYSTEM_KINDS)
    provider = Text(max_length=50)
    year = Count(low=1990, high=2100)
    status = Text(max_length=100)
    accelerator = Reference("accelerators", AcceleratorSchema)
    gpus = Count(high=MAX_GPUS)
    gpus_per_node = Count(high=1000)
    nodes = Count(high=MAX_GPUS)
    scale_up = fields.Nested(ScaleUpSchema)
    scale_out = fields.Nested(ScaleOutSchema)
    cpus = Text(max_length=200)
    vcpus = Count(high=100_000)
    host_memory_bytes = Quantity("bytes")
    power_supplies = Text(max_length=200)
    power_max_watts = Quantity("watts")
    power_common_watts = Quantity("watts")
    power_low_watts = Quantity("watts")
    node_power_watts = Quantity("watts")
    list_price_usd = Quantity("usd")
    prices = fields.List(fields.Nested(PriceSchema))
    datasheet = Text()
    pods = Count(high=10_000)
    gpus_per_pod = Count(high=MAX_GPUS)
    racks = Count(high=MAX_GPUS)
    nodes_per_rack = Count(high=1000)
    scalable_unit = Flag()
    used_for = Text()
