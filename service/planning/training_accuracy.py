"""Step times held against published ones: every row asked as a user would ask it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from service.catalog.catalog import Catalog
from service.catalog.training_measurements import TrainingPoint
from service.core.training.block import TrainingConstants
from service.core.transformer.flops import model_flops
from service.planning.training_costs import step_costs
from service.planning.training_engines import framework_class
from service.planning.training_question import TrainingQuestion
from service.planning.training_resolve import resolve_training
from service.planning.training_scene import TrainingScene


@dataclass(frozen=True, slots=True)
class AskedPoint:
    """A row as things, and what was measured. [s]"""

    point: TrainingPoint
    scene: TrainingScene
    measured_seconds: float

    def predicted_seconds(self, catalog: Catalog, constants: TrainingConstants | None = None) -> float:
        """Return the predicted step, perhaps with other constants than the catalogue's. [s]"""
        scene = self.scene
        if constants is not None:
            scene = replace(scene, engines=replace(scene.engines, constants=constants))
        return step_costs(scene, catalog).step.total

    def calibration_key(self, catalog: Catalog) -> tuple[str, str]:
        """Return which set of constants it is predicted with: generation and class of framework."""
        architecture = self.scene.system.accelerator.architecture
        return catalog.training.generation(architecture), framework_class(self.scene.framework)


def asked_points(points: Iterable[TrainingPoint], catalog: Catalog) -> Iterator[AskedPoint]:
    """Yield every row that is not left out, as things.

    Raises
    ------
    StepcastError
        If a row's layout is refused: it ran, so the refusal is wrong.
    """
    for point in points:
        if not point.left_out:
            scene = resolve_training(TrainingQuestion.of(point.question), catalog)
            yield AskedPoint(point, scene, _measured_seconds(point, scene))


def _measured_seconds(point: TrainingPoint, scene: TrainingScene) -> float:
    """Return the measured step; where only FLOP/s are stated, by the source's own way of counting them."""
    if point.step_seconds is not None:
        return point.step_seconds
    causal = point.flop_convention == "causal"
    flops = model_flops(scene.model.architecture, scene.tokens, scene.sequence_length, causal=causal)
    return flops / (scene.plan.gpus * (point.flops_per_second_per_gpu or 1.0))
