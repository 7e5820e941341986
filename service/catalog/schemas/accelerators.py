"""The shape of an accelerator."""

from __future__ import annotations

from marshmallow import fields

from service.catalog.schemas.entry import EntrySchema, StrictSchema
from service.catalog.schemas.fields import Count, OneOf, Quantity, QuantityMap, Reference, Text
from service.core.hardware import Topology

NUMBER_FORMATS = ("fp64", "fp64_tensor", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8")
TOPOLOGIES = tuple(topology.value for topology in Topology)


class AcceleratorScaleUpSchema(StrictSchema):
    """The accelerator's own links to its peers, and how they are commonly wired."""

    network = Reference("networks", required=True)
    switch = Reference("networks")
    topology = OneOf(TOPOLOGIES)
    domain_gpus = Count(high=1_000_000)
    links = Count(high=1000)
    bandwidth_per_link_per_direction_bytes_per_second = Quantity("bytes_per_second")
    bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")
    bandwidth_bidirectional_bytes_per_second = Quantity("bytes_per_second")
    torus_dimensions = Count(high=6)
    note = Text()


class AcceleratorLinkSchema(StrictSchema):
    """A link to the host or to the processor of a superchip."""

    network = Reference("networks", required=True)
    bandwidth_per_direction_bytes_per_second = Quantity("bytes_per_second")


class PriceSchema(StrictSchema):
    """A price with its date: the first thing in a catalogue to go stale."""

    price_usd_per_hour = Quantity("usd_per_hour", required=True)
    per = OneOf(("instance", "gpu", "chip", "host"), required=True)
    terms = Text(required=True)
    dated = Text(required=True)
    provider = Text()
    source = Text()
    note = Text()


class AcceleratorSchema(EntrySchema):
    """One accelerator as the driver shows it."""

    vendor = Text(required=True, max_length=50)
    architecture = Text(required=True, max_length=50)
    form_factor = Text(max_length=100)
    release_year = Count(low=1990, high=2100)
    status = Text(max_length=100)
    dense_peaks_flops_per_second = QuantityMap("flops_per_second", NUMBER_FORMATS, required=True)
    memory_type = Text(max_length=30)
    memory_marketed_bytes = Quantity("bytes", required=True)
    memory_usable_bytes = Quantity("bytes")
    memory_bandwidth_bytes_per_second = Quantity("bytes_per_second", required=True)
    l2_cache_bytes = Quantity("bytes")
    l3_cache_bytes = Quantity("bytes")
    sm_count = Count(high=100_000)
    boost_clock_hertz = Quantity("hertz")
    tdp_watts = Quantity("watts")
    devices_per_package = Count(high=64)
    scale_up = fields.Nested(AcceleratorScaleUpSchema)
    host_link = fields.Nested(AcceleratorLinkSchema)
    chip_to_chip = fields.Nested(AcceleratorLinkSchema)
    prices = fields.List(fields.Nested(PriceSchema))
