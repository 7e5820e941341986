"""From the documents of accelerators, networks and systems to the core's own types.

What a system leaves out is taken from its accelerator, then from its network: figures stated nearer win.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from service.core.hardware import Accelerator, ScaleOut, ScaleUp, System, Topology
from service.errors import FieldProblem

# Turns a reference (id, alias or inline object) into the document of that kind.
Lookup = Callable[[Any, str], Mapping[str, Any]]

_DEFAULT_SWITCH_PORTS = 64  # of a 51.2 Tbit/s switch at 800 Gbit/s, or of a Quantum-2 at 400
_PER_DIRECTION = "bandwidth_per_direction_bytes_per_second"
_BIDIRECTIONAL = "bandwidth_bidirectional_bytes_per_second"
_PAIR = "pair_bandwidth_per_direction_bytes_per_second"


class NotAskable(Exception):
    """The document holds together, but lacks what an estimate needs."""

    def __init__(self, problem: FieldProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class References:
    """How a system's references are looked up: each takes (reference, pointer) and returns a document."""

    accelerator: Lookup
    network: Lookup


def fat_tree_gpus(switch_ports: int, nics_per_gpu: float) -> int:
    """Return how many GPUs a non-blocking three-tier fat tree holds.

    Parameters
    ----------
    switch_ports : int
        k, ports of every switch: the tree has k^3/4 end points.
    nics_per_gpu : float
        End points that one GPU takes.

    Source
    ------
    Al-Fares, Loukissas, Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008, section 3.
    """
    return int(switch_ports**3 // 4 / max(nics_per_gpu, 1.0))


def accelerator_from_document(document: Mapping[str, Any], network: Lookup, pointer: str = "") -> Accelerator:
    """Build the accelerator that a checked document describes."""
    d = document
    host = d.get("host_link")
    host_rate = _first(_PER_DIRECTION, host, network(host["network"], f"{pointer}/host_link/network")) if host else None
    return Accelerator(
        id=d.get("id", "inline"),
        name=d.get("name", d.get("id", "inline accelerator")),
        vendor=d["vendor"],
        architecture=d["architecture"],
        peak_flops_per_second=dict(d["dense_peaks_flops_per_second"]),
        memory_bytes=float(d.get("memory_usable_bytes", d["memory_marketed_bytes"])),
        memory_bandwidth_bytes_per_second=d["memory_bandwidth_bytes_per_second"],
        sm_count=d.get("sm_count"),
        tdp_watts=d.get("tdp_watts"),
        l2_cache_bytes=_first("l2_cache_bytes", d),
        boost_clock_hertz=d.get("boost_clock_hertz"),
        host_link_bytes_per_second=host_rate,
    )


def system_from_document(document: Mapping[str, Any], references: References, pointer: str = "") -> System:
    """Build the system that a checked document describes.

    Raises
    ------
    NotAskable
        If it names no accelerator, or no bandwidth can be found for its domain.
    """
    d = document
    if "accelerator" not in d:
        raise NotAskable(
            FieldProblem(
                f"{pointer}/accelerator", "names no accelerator: its facts are kept, but it cannot be asked about"
            )
        )
    card = references.accelerator(d["accelerator"], f"{pointer}/accelerator")
    gpus_per_node = d.get("gpus_per_node") or d.get("gpus") or d.get("scale_up", {}).get("domain_gpus")
    if gpus_per_node is None:
        raise NotAskable(FieldProblem(f"{pointer}/gpus_per_node", "is required: how many GPUs share a host"))
    scale_up = _scale_up(d.get("scale_up", {}), card, gpus_per_node, references.network, pointer)
    scale_out = (
        _scale_out(d["scale_out"], references.network, d.get("gpus_per_pod"), pointer) if "scale_out" in d else None
    )
    return System(
        id=d.get("id", "inline"),
        name=d.get("name", f"{gpus_per_node} x {card.get('name', card.get('id', 'inline accelerator'))}"),
        accelerator=accelerator_from_document(card, references.network, f"{pointer}/accelerator"),
        gpus_per_node=gpus_per_node,
        scale_up=scale_up,
        scale_out=scale_out,
        max_gpus=_max_gpus(d, scale_up, scale_out, references.network, pointer),
        notes=tuple(d.get("notes", ())),
    )


def _scale_up(
    stated: Mapping[str, Any], card: Mapping[str, Any], gpus_per_node: int, network: Lookup, pointer: str
) -> ScaleUp:
    own = card.get("scale_up", {})
    wiring = stated.get("topology") or own.get("topology") or (None if own else Topology.PCIE)
    if wiring is None:
        message = "is required: the accelerator has links, but does not say how they are wired"
        raise NotAskable(FieldProblem(f"{pointer}/scale_up/topology", message, allowed=[*Topology]))
    topology = Topology(wiring)
    if topology is Topology.PCIE:
        own = card.get("host_link", {})  # peer to peer over the host's PCIe, one x16 slot a board
    reference = stated.get("network") or own.get("network")
    if reference is None:
        raise NotAskable(
            FieldProblem(f"{pointer}/scale_up/network", "is required: the accelerator names none of its own")
        )
    net = network(reference, f"{pointer}/scale_up/network")
    # The accelerator's figures are those of its own network only.
    figures = own if own.get("network") in (None, net.get("id")) and _PER_DIRECTION in own else {}
    per_direction = _first(_PER_DIRECTION, stated, figures, net)
    if per_direction is None:
        raise NotAskable(
            FieldProblem(f"{pointer}/scale_up/{_PER_DIRECTION}", "is required: no bandwidth is known for the network")
        )
    domain = stated.get("domain_gpus") or (own.get("domain_gpus") if topology is not Topology.PCIE else None)
    domain = domain or (2 if topology is Topology.BRIDGE else gpus_per_node)
    switch = stated.get("switch") or (own.get("switch") if topology is Topology.SWITCH else None)
    reduces = network(switch, f"{pointer}/scale_up/switch").get("in_switch_reduction", False) if switch else False
    return ScaleUp(
        network=net.get("id", "inline"),
        topology=topology,
        bandwidth_bytes_per_second=per_direction,
        bidirectional_bytes_per_second=_first(_BIDIRECTIONAL, stated, figures, net) or 2 * per_direction,
        pair_bandwidth_bytes_per_second=_pair_bandwidth(stated, own, net, topology, per_direction, domain),
        domain_gpus=domain,
        in_switch_reduction=stated.get("in_switch_reduction", reduces) and topology is Topology.SWITCH,
    )


def _pair_bandwidth(
    stated: Mapping[str, Any],
    own: Mapping[str, Any],
    net: Mapping[str, Any],
    topology: Topology,
    per_direction: float,
    domain: int,
) -> float:
    """Return what one pair can use, one way: all of it through a switch, one peer's share of point-to-point links."""
    if _PAIR in stated:
        return float(stated[_PAIR])
    if topology in (Topology.SWITCH, Topology.PCIE):
        return per_direction
    if topology in (Topology.MESH, Topology.BRIDGE):
        return float(net[_PAIR]) if _PAIR in net and topology is Topology.MESH else per_direction / max(1, domain - 1)
    link = _first("neighbour_bandwidth_per_direction_bytes_per_second", net)
    return link or _first("bandwidth_per_link_per_direction_bytes_per_second", own, net) or per_direction


def _scale_out(stated: Mapping[str, Any], network: Lookup, pod_gpus: int | None, pointer: str) -> ScaleOut:
    net = network(stated["network"], f"{pointer}/scale_out/network")
    nics = stated.get("nics_per_gpu", 1.0)
    rate = stated.get("bandwidth_per_gpu_bytes_per_second") or net.get(
        "bandwidth_per_gpu_per_direction_bytes_per_second"
    )
    port = net.get(_PER_DIRECTION)
    if rate is None and port is None:
        raise NotAskable(
            FieldProblem(
                f"{pointer}/scale_out/bandwidth_per_gpu_bytes_per_second", "is required: the network states none"
            )
        )
    return ScaleOut(
        net.get("id", "inline"),
        float(rate or port * nics),
        float(nics),
        pod_gpus,
        float(stated.get("oversubscription_ratio", 1.0)),
        bool(net.get("in_switch_reduction", False)),
    )


def _max_gpus(
    d: Mapping[str, Any], scale_up: ScaleUp, scale_out: ScaleOut | None, network: Lookup, pointer: str
) -> int:
    if scale_out is None:
        return scale_up.domain_gpus
    stated = d["scale_out"].get("max_gpus")
    if stated is not None:
        return int(stated)
    net = network(d["scale_out"]["network"], f"{pointer}/scale_out/network")
    return fat_tree_gpus(net.get("ports_per_switch", _DEFAULT_SWITCH_PORTS), scale_out.nics_per_gpu)


def _first(key: str, *places: Mapping[str, Any] | None) -> float | None:
    return next((float(place[key]) for place in places if place and key in place), None)
