"""Where the ranks of a group sit: how many share a node, how many share a scale-up domain."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.hardware import System
from service.errors import FieldProblem, UnsupportedRankCount


@dataclass(frozen=True, slots=True)
class Placement:
    """A group of ranks, evenly spread; inside one domain the last node may be part filled.

    Parameters
    ----------
    num_ranks : int
        n, all ranks of the group.
    ranks_per_node : int
        Ranks that share a host; divides n unless the whole group is in one node.
    ranks_per_domain : int
        g, ranks that share a scale-up domain.
    """

    num_ranks: int
    ranks_per_node: int
    ranks_per_domain: int

    @property
    def num_nodes(self) -> int:
        """Hosts the group touches."""
        return -(-self.num_ranks // self.ranks_per_node)

    @property
    def hosts_per_domain(self) -> int:
        """Hosts that share a scale-up domain."""
        return -(-self.ranks_per_domain // self.ranks_per_node)

    @property
    def num_domains(self) -> int:
        """k, scale-up domains the group touches."""
        return -(-self.num_ranks // self.ranks_per_domain)


def place(system: System, num_ranks: int, ranks_per_node: int | None = None) -> Placement:
    """Spread a group over a system: fill nodes, and scale-up domains, first.

    Inside one domain the links do not care where a node ends, so six of a GB200 rack's GPUs are four and two.

    Parameters
    ----------
    system : System
        The hardware.
    num_ranks : int
        n, one rank a GPU. [-]
    ranks_per_node : int or None
        Asked for by the user; must divide n and fit a node. None fills nodes. [-]

    Raises
    ------
    UnsupportedRankCount
        If the system cannot have that many GPUs, or the group does not divide.

    Source
    ------
    Definition.
    """
    problems = []
    domain_gpus = system.scale_up.domain_gpus
    if num_ranks > system.max_gpus:
        problems.append(
            FieldProblem(
                "/gpus",
                f"{system.id} can have at most {system.max_gpus} GPUs",
                num_ranks,
                {"min": 1, "max": system.max_gpus},
                system.max_gpus,
            )
        )
    per_node = ranks_per_node or min(num_ranks, system.gpus_per_node)
    if per_node > system.gpus_per_node:
        problems.append(
            FieldProblem(
                "/gpus_per_node",
                f"a node of {system.id} has {system.gpus_per_node} GPUs",
                ranks_per_node,
                {"min": 1, "max": system.gpus_per_node},
                system.gpus_per_node,
            )
        )
    elif num_ranks % per_node and not problems and not (ranks_per_node is None and num_ranks <= domain_gpus):
        divisors = [d for d in range(1, system.gpus_per_node + 1) if num_ranks % d == 0]
        asked = ranks_per_node is not None
        suggestion = min(divisors, key=lambda d: abs(d - per_node)) if asked else num_ranks - num_ranks % per_node
        problems.append(
            FieldProblem(
                "/gpus_per_node" if asked else "/gpus",
                f"{num_ranks} GPUs do not divide into nodes of {per_node}",
                ranks_per_node if asked else num_ranks,
                divisors if asked else f"a multiple of {per_node}, or gpus_per_node as well",
                suggestion,
            )
        )
    if problems:
        raise UnsupportedRankCount("; ".join(p.message for p in problems), problems)
    nodes_per_domain = max(1, domain_gpus // system.gpus_per_node)
    per_domain = min(num_ranks, domain_gpus, per_node * nodes_per_domain)
    if ranks_per_node is None and num_ranks <= domain_gpus:
        per_domain = num_ranks
    return Placement(num_ranks, per_node, per_domain)
