"""How far serving estimates are from every published figure that is complete enough to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from service.catalog.catalog import Catalog
from service.catalog.serving_measurements import ServingPoint, serving_points
from service.core.inference.weights import KvDtype, WeightDtype
from service.errors import StepcastError
from service.planning.inference import estimate_inference
from service.planning.inference_question import InferenceQuestion

SCORED = ("fit", "twin", "validate")


@dataclass(frozen=True, slots=True)
class ScoredServing:
    """One published figure and what is predicted for it.

    Parameters
    ----------
    figure : str
        What is compared: output_tokens_per_second, tpot_seconds or ttft_seconds.
    error_ratio, naive_error_ratio : float
        Predicted over measured, less one; of the model, and of the roofline at the same batch. [-]
    in_range : bool
        Whether the answer's range, carried over to the figure, holds the measurement.
    """

    point: ServingPoint
    figure: str
    measured: float
    predicted: float
    error_ratio: float
    naive_error_ratio: float
    in_range: bool
    range_width_ratio: float


def question_of(point: ServingPoint) -> InferenceQuestion:
    """Return the question that a row answers."""
    return InferenceQuestion(
        model=point.model,
        system=point.system,
        gpus=point.gpus,
        tensor_parallel_size=point.tensor_parallel_size,
        expert_parallel_size=point.expert_parallel_size,
        attention_data_parallel_size=point.attention_data_parallel_size,
        engine=point.engine,
        weight_dtype=WeightDtype(point.weight_dtype),
        kv_dtype=KvDtype(point.kv_dtype) if point.kv_dtype else None,
        input_sequence_length=point.input_tokens,
        output_sequence_length=point.output_tokens,
        length_spread=point.length_spread,
        concurrency=1 if point.kind == "min_latency" else point.concurrency,
    )


def is_scored(point: ServingPoint) -> bool:
    """Return whether a row is of a known precision, length and load, and not set apart."""
    return point.role in SCORED and point.quality == "A" and point.input_tokens > 1


def scored_servings(catalog: Catalog, points: Iterable[ServingPoint] | None = None) -> Iterator[ScoredServing]:
    """Yield every scored row: throughput at the most, TPOT and TTFT at a concurrency, latency of one request."""
    for point in serving_points() if points is None else points:
        if is_scored(point):
            yield from _scored(point, catalog)


def _scored(point: ServingPoint, catalog: Catalog) -> Iterator[ScoredServing]:
    try:
        answer = estimate_inference(question_of(point), catalog)
    except StepcastError:
        return
    result, ideal = answer.result, answer.ideal
    if not result.fits:
        yield ScoredServing(point, "output_tokens_per_second", 1.0, 0.0, -1.0, 0.0, False, 1.0)
        return
    low, high = answer.range.low / result.output_tokens_per_second, answer.range.high / result.output_tokens_per_second
    for figure, naive in (
        ("output_tokens_per_second", ideal.output_tokens_per_second),
        ("tpot_seconds", ideal.tpot_seconds),
        ("ttft_seconds", ideal.ttft_seconds),
    ):
        measured, predicted = getattr(point, figure), getattr(result, figure)
        if point.kind == "min_latency" and figure == "ttft_seconds":  # timed in the engine, without a server
            predicted -= catalog.calibrations.engines.engines[point.engine].request_seconds
        if measured is None or not predicted or not _is_asked(point, figure):
            continue
        ratio = measured / predicted if figure == "output_tokens_per_second" else predicted / measured
        yield ScoredServing(
            point, figure, measured, predicted, predicted / measured - 1, naive / measured - 1, low <= ratio <= high,
            high / low,
        )  # fmt: skip


def _is_asked(point: ServingPoint, figure: str) -> bool:
    """Return whether a figure is the one to compare: a saturated queue's TTFT says nothing of the engine."""
    if point.kind == "max_throughput":
        return figure == "output_tokens_per_second"
    if point.kind == "min_latency":
        return figure == ("ttft_seconds" if point.ttft_seconds is not None else "tpot_seconds")
    return figure != "output_tokens_per_second"
