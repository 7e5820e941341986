"""Which NCCL environment variables decide how a collective runs, and what each other setting would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from service.core.collectives.algorithms import Candidate, chosen
from service.core.collectives.cost import Algorithm, Protocol

# As NCCL spells them in NCCL_ALGO and NCCL_PROTO (docs, "Environment Variables").
_ALGO = {Algorithm.RING: "Ring", Algorithm.TREE: "Tree", Algorithm.NVLS: "NVLS", Algorithm.NVLS_TREE: "NVLSTree"}
_PROTO = {Protocol.SIMPLE: "Simple", Protocol.LL: "LL", Protocol.LL128: "LL128"}
_IN_SWITCH = (Algorithm.NVLS, Algorithm.NVLS_TREE)


@dataclass(frozen=True, slots=True)
class NcclSetting:
    """A variable, a value that changes the way taken, and what that way takes.

    Parameters
    ----------
    ratio : float
        Its time over that of NCCL's own choice. [-]
    """

    variable: str
    value: str
    algorithm: Algorithm
    protocol: Protocol
    seconds: float
    ratio: float


def nccl_settings(ways: tuple[Candidate, ...]) -> tuple[NcclSetting, ...]:
    """Return the settings of NCCL_ALGO, NCCL_PROTO and NCCL_NVLS_ENABLE that change NCCL's own choice.

    Parameters
    ----------
    ways : tuple[Candidate, ...]
        Every way, as NCCL would choose from them with nothing set.
    """
    available = tuple(w for w in ways if w.cost is not None)
    free = chosen(available)
    return tuple(setting for setting in _settings(available, free) if setting is not None)


def _settings(available: tuple[Candidate, ...], free: Candidate) -> Iterator[NcclSetting | None]:
    for algorithm, spelling in _ALGO.items():
        yield _setting("NCCL_ALGO", spelling, [w for w in available if w.algorithm is algorithm], free)
    for protocol, spelling in _PROTO.items():
        yield _setting("NCCL_PROTO", spelling, [w for w in available if w.protocol is protocol], free)
    yield _setting("NCCL_NVLS_ENABLE", "0", [w for w in available if w.algorithm not in _IN_SWITCH], free)


def _setting(variable: str, value: str, left: list[Candidate], free: Candidate) -> NcclSetting | None:
    if not left or free.algorithm is Algorithm.DIRECT:
        return None
    way = chosen(tuple(left))
    if way is free or way.cost is None or free.cost is None:
        return None
    seconds = way.cost.seconds
    return NcclSetting(variable, value, way.algorithm, way.protocol, seconds, seconds / free.cost.seconds)
