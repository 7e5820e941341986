"""The table of estimates: whatever keeps or sweeps a question finds its kind here."""

from __future__ import annotations

from typing import Final

from service.http.estimates import EstimateKind
from service.http.v1.collective_estimates import COLLECTIVE
from service.http.v1.inference_estimates import INFERENCE

KINDS: Final[dict[str, EstimateKind]] = {row.kind: row for row in (COLLECTIVE, INFERENCE)}
