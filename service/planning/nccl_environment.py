"""Which NCCL environment variables decide how a collective runs, and what each other setting would give."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from service.core.collectives.algorithms import Candidate, chosen
from service.core.collectives.cost import Algorithm, Protocol
from service.core.collectives.path import CollectivePath

# As NCCL spells them in NCCL_ALGO and NCCL_PROTO (docs, "Environment Variables").
_ALGO = {Algorithm.RING: "Ring", Algorithm.TREE: "Tree", Algorithm.NVLS: "NVLS", Algorithm.NVLS_TREE: "NVLSTree"}
_PROTO = {Protocol.SIMPLE: "Simple", Protocol.LL: "LL", Protocol.LL128: "LL128"}
_IN_SWITCH = (Algorithm.NVLS, Algorithm.NVLS_TREE)
_ON_WINDOWS = (Algorithm.SYMMETRIC, Algorithm.COPY_ENGINE)
_FEW_CTAS = 8  # leaves a GPU's other SMs to the work beside
_NO_CHANGE_RATIO = 0.005


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


def nccl_settings(
    ways: tuple[Candidate, ...],
    path: CollectivePath | None = None,
    again: Callable[[CollectivePath], tuple[Candidate, ...]] | None = None,
) -> tuple[NcclSetting, ...]:
    """Return the settings that change NCCL's own choice, or how long it takes.

    Parameters
    ----------
    ways : tuple[Candidate, ...]
        Every way, as NCCL would choose from them with nothing set.
    path, again : CollectivePath, Callable or None
        What it runs on, and the ways on another path: for the settings that change the CTAs.
    """
    available = tuple(w for w in ways if w.cost is not None)
    free = chosen(available)
    found = [setting for setting in _settings(available, free) if setting is not None]
    if path is not None and again is not None:
        found += _cta_settings(free, path, again)
    return tuple(found)


def _cta_settings(
    free: Candidate, path: CollectivePath, again: Callable[[CollectivePath], tuple[Candidate, ...]]
) -> Iterator[NcclSetting]:
    """NCCL_MAX_CTAS leaves SMs to other work and slows large buffers; NCCL_MIN_CTAS spreads small ones."""
    fewer = dataclasses.replace(
        path,
        max_channels=_FEW_CTAS,
        nvls=path.nvls and dataclasses.replace(path.nvls, channels=min(_FEW_CTAS, path.nvls.channels)),
    )
    more = dataclasses.replace(path, min_channels=path.max_channels)
    for variable, value, changed in (
        ("NCCL_MAX_CTAS", _FEW_CTAS, fewer),
        ("NCCL_MIN_CTAS", path.max_channels, more),
    ):
        way = next(w for w in again(changed) if (w.algorithm, w.protocol) == (free.algorithm, free.protocol))
        if way.cost is None or free.cost is None or free.algorithm is Algorithm.DIRECT:
            continue
        ratio = way.cost.seconds / free.cost.seconds
        if abs(ratio - 1) > _NO_CHANGE_RATIO:
            yield NcclSetting(variable, str(value), way.algorithm, way.protocol, way.cost.seconds, ratio)


def _settings(available: tuple[Candidate, ...], free: Candidate) -> Iterator[NcclSetting | None]:
    for algorithm, spelling in _ALGO.items():
        yield _setting("NCCL_ALGO", spelling, [w for w in available if w.algorithm is algorithm], free)
    for protocol, spelling in _PROTO.items():
        yield _setting("NCCL_PROTO", spelling, [w for w in available if w.protocol is protocol], free)
    yield _setting("NCCL_NVLS_ENABLE", "0", [w for w in available if w.algorithm not in _IN_SWITCH], free)
    yield _setting("NCCL_WIN_ENABLE", "0", [w for w in available if w.algorithm not in _ON_WINDOWS], free)
    for variable, value, algorithm in (
        ("NCCL_COLLNET_ENABLE", "1", Algorithm.COLLNET),
        ("NCCL_CTA_POLICY", "2", Algorithm.COPY_ENGINE),  # zero CTAs
    ):
        yield _setting(variable, value, [w for w in available if w.algorithm is algorithm], free)


def _setting(variable: str, value: str, left: list[Candidate], free: Candidate) -> NcclSetting | None:
    if not left:
        return None
    way = chosen(tuple(left))
    if way is free or way.cost is None or free.cost is None:
        return None
    seconds = way.cost.seconds
    return NcclSetting(variable, value, way.algorithm, way.protocol, seconds, seconds / free.cost.seconds)
