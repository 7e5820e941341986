"""Training constants and how far predictions were off, from calibrations/training.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from service.catalog.constants import named_constants
from service.core.collectives.expert_exchange import ExchangeConstants
from service.core.training.block import TrainingConstants
from service.errors import CatalogDefect

_FILE = "training"
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class TrainingResidual:
    """Measured over predicted step time of one kind of rows.

    Parameters
    ----------
    low_ratio, high_ratio : float
        The ends that hold the middle 90 % of them. [-]
    generations, frameworks, families : frozenset[str]
        What it is of; empty: all. Families: dense, mixture of experts.
    """

    name: str
    rows: int
    low_ratio: float
    high_ratio: float
    generations: frozenset[str] = frozenset()
    frameworks: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()

    def holds(self, generation: str, framework: str, family: str) -> bool:
        """Return whether an estimate is of these rows' kind."""
        asked = ((self.generations, generation), (self.frameworks, framework), (self.families, family))
        return all(not values or value in values for values, value in asked)


@dataclass(frozen=True, slots=True)
class FrameworkMemory:
    """What a process takes of a GPU beside the model.

    Parameters
    ----------
    context_bytes : float
        CUDA context, NCCL's buffers, cuBLAS workspaces. [B]
    fragmentation_ratio : float
        What the allocator holds over what is asked of it. [-]
    """

    context_bytes: float
    fragmentation_ratio: float


@dataclass(frozen=True, slots=True)
class TrainingCalibrations:
    """All sets of constants, one for each GPU generation and class of framework.

    Parameters
    ----------
    sets : Mapping[tuple[str, str], TrainingConstants]
        By (generation, class); the class `other` of generation `other` stands in elsewhere.
    generations : Mapping[str, str]
        From a GPU architecture to its generation.
    straggler_ratio_per_doubling, straggler_gpus : float
        See ``straggler_ratio``. [-]
    exchange : ExchangeConstants or None
        Expert dispatch and combine with DeepEP's kernels.
    """

    sets: Mapping[tuple[str, str], TrainingConstants]
    generations: Mapping[str, str]
    straggler_ratio_per_doubling: float
    straggler_gpus: float
    memory: Mapping[str, FrameworkMemory]
    exchange: ExchangeConstants
    residuals: tuple[TrainingResidual, ...] = field(default=())
    source: str = f"hardware_catalog/calibrations/{_FILE}.yaml"

    def generation(self, architecture: str) -> str:
        """Return the generation of an architecture; `other` where none was fitted."""
        return self.generations.get(architecture, _OTHER)

    def constants(self, architecture: str, framework_class: str) -> TrainingConstants:
        """Return the set of an architecture and a class of framework, or what stands in."""
        generation = self.generation(architecture)
        for key in ((generation, framework_class), (_OTHER, framework_class)):
            if key in self.sets:
                return self.sets[key]
        return self.sets[_OTHER, "megatron"]

    def residual(self, generation: str, framework: str, family: str) -> TrainingResidual:
        """Return the first stratum that an estimate is in; the last one holds everything."""
        found = (r for r in self.residuals if r.holds(generation, framework, family))
        return next(found, self.residuals[-1])


@cache
def load_training_calibrations(folder: Path) -> TrainingCalibrations:
    """Read training.yaml of a folder, once.

    Raises
    ------
    CatalogDefect
        If it does not hold together.
    """
    path = folder / f"{_FILE}.yaml"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        return _calibrations(document)
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as defect:
        raise CatalogDefect(path.name, str(defect), "missing or not a value with its unit") from defect


def _calibrations(document: Mapping[str, Any]) -> TrainingCalibrations:
    return TrainingCalibrations(
        sets=MappingProxyType(
            {
                (each["generation"], each["framework"]): TrainingConstants(**named_constants(each["constants"]))
                for each in document["sets"]
            }
        ),
        generations=MappingProxyType(dict(document["generations"])),
        straggler_ratio_per_doubling=float(document["straggler"]["ratio_per_doubling"]),
        straggler_gpus=float(document["straggler"]["gpus"]),
        memory=MappingProxyType(
            {name: FrameworkMemory(**named_constants(each)) for name, each in document["memory"].items()}
        ),
        exchange=ExchangeConstants(**named_constants(document["exchange"]), per_expert=False),
        residuals=tuple(_residual(each) for each in document.get("residuals", ())),
    )


def _residual(each: Mapping[str, Any]) -> TrainingResidual:
    return TrainingResidual(
        each["name"],
        int(each["rows"]),
        float(each["low_ratio"]),
        float(each["high_ratio"]),
        *(frozenset(each.get(key, ())) for key in ("generations", "frameworks", "families")),
    )
