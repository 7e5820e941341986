"""What the catalogue can say of an entry by arithmetic alone, shown beside its facts."""

from __future__ import annotations

from typing import Any

from service.core.hardware import System
from service.core.transformer.architecture import Model
from service.core.transformer.parameters import (
    active_parameters,
    active_parameters_without_input_embedding,
    mtp_parameters,
    parameter_terms,
    total_parameters,
)


def derived_from_model(model: Model) -> dict[str, Any]:
    """Return the parameters of a model, in all and term by term."""
    shape = model.architecture
    return {
        "parameters": total_parameters(shape),
        "active_parameters": active_parameters(shape),
        "active_parameters_without_input_embedding": active_parameters_without_input_embedding(shape),
        "mtp_parameters": mtp_parameters(shape),
        "parameter_terms": dict(parameter_terms(shape)),
    }


def derived_from_system(system: System) -> dict[str, Any]:
    """Return what estimates will use of a system, its defaults filled in."""
    up, out = system.scale_up, system.scale_out
    return {
        "askable": True,
        "max_gpus": system.max_gpus,
        "domain_gpus": up.domain_gpus,
        "topology": up.topology.value,
        "scale_up_bandwidth_per_direction_bytes_per_second": up.bandwidth_bytes_per_second,
        "scale_up_pair_bandwidth_per_direction_bytes_per_second": up.pair_bandwidth_bytes_per_second,
        "in_switch_reduction": up.in_switch_reduction,
        "scale_out_bandwidth_per_gpu_bytes_per_second": out.bandwidth_bytes_per_second if out else None,
    }
