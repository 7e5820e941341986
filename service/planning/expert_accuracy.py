"""How far expert dispatch and combine are from every published row that the project carries."""

from __future__ import annotations

from collections.abc import Iterator

from service.catalog.catalog import Catalog
from service.catalog.expert_exchange import ExchangeCalibration, token_bytes
from service.catalog.measurements import ExchangePoint, expert_exchanges
from service.core.collectives.expert_exchange import exchange, expert_traffic
from service.core.hardware import System
from service.core.placement import place
from service.planning.collective_accuracy import ScoredRow

_FEW_TOKENS = 128


def scored_exchanges(catalog: Catalog) -> Iterator[ScoredRow]:
    """Yield every row predicted; the naive formula sends a token once an expert, at the rate of the links."""
    for point in expert_exchanges():
        system = catalog.system(point.system)
        found = next(
            c
            for c in catalog.experts.of(system)
            if (c.implementation, c.kernel, c.phase, c.dtype)
            == (point.implementation, point.kernel, point.phase, point.dtype)
        )
        yield _row(point, found, system, catalog)


def _row(point: ExchangePoint, found: ExchangeCalibration, system: System, catalog: Catalog) -> ScoredRow:
    link = catalog.calibrations.collective_path(system, place(system, point.gpus)).bandwidth_bytes_per_second
    token = token_bytes(point.phase, point.hidden_size, point.dtype)
    traffic = expert_traffic(
        point.tokens, token, point.num_experts, point.top_k, point.gpus, point.gpus_per_domain,
        per_expert=found.constants.per_expert,
    )  # fmt: skip
    nic = system.scale_out.bandwidth_bytes_per_second if system.scale_out else 0.0
    predicted = exchange(traffic, found.constants, link, nic, point.sms).seconds
    low, high = found.band(point.tokens)
    naive = point.tokens * token * point.top_k * (point.gpus - 1) / point.gpus / link
    return ScoredRow(
        table="experts",
        cluster=f"{point.implementation} {point.kernel}",
        system=point.system,
        collective=f"expert_{point.phase}",
        dtype=point.dtype,
        gpus=point.gpus,
        size_bytes=round(point.tokens * token),
        band=f"to {_FEW_TOKENS} tokens" if point.tokens <= _FEW_TOKENS else f"more than {_FEW_TOKENS} tokens",
        role="fitted" if point.system == found.fitted_on or found.fitted_on not in found.systems else "held out",
        measured_seconds=point.seconds,
        predicted_seconds=predicted,
        low_seconds=predicted * low,
        high_seconds=predicted * high,
        error_ratio=predicted / point.seconds - 1,
        naive_error_ratio=naive / point.seconds - 1,
        source=point.id,
    )
