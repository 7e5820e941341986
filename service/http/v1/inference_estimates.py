"""GET and POST /v1/estimates/inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

from flask import Response
from marshmallow import Schema, fields

from service.catalog.catalog import Catalog
from service.core.inference.weights import KvDtype, WeightDtype
from service.http.estimates import EstimateKind, EstimateSchema, Rows, answer_estimate
from service.http.fields import MOST_GPUS, Choice, Count, CountOrMax, EntryReference, Figure, Seconds
from service.http.operations import Answer, Operation
from service.http.plain_dump import plain_dump
from service.http.strict_schema import StrictSchema
from service.planning.estimates import Estimate
from service.planning.inference import estimate_inference, inference_curve
from service.planning.inference_question import ENGINES, USUAL_TOKENS, Disaggregation, InferenceQuestion, Speculation
from service.planning.inference_result import StepBreakdown

MOST_TOKENS, MOST_BATCH, MOST_PARTS, MOST_DRAFTED = 100_000_000, 10_000_000, 100_000, 64
MOST_BYTES_PER_SECOND = 1_000_000_000_000_000


class SpeculationSchema(StrictSchema):
    """Speculative decoding: some tokens drafted, and verified in one step."""

    draft_tokens = Count(high=MOST_DRAFTED, load_default=1)
    accepted_tokens = Figure(
        low=1.0, high=MOST_DRAFTED + 1.0, metadata={"description": "Tokens that a step yields on average, its own too."}
    )
    acceptance_ratio = Figure(metadata={"description": "Chance that a drafted token is right; or accepted_tokens."})
    draft_cost_ratio = Figure(
        high=10.0, load_default=0.03, metadata={"description": "Time of drafting one token over that of a step."}
    )


class DisaggregationSchema(StrictSchema):
    """Prefill on replicas of its own."""

    prefill_tensor_parallel_size = Count(high=MOST_PARTS)
    kv_bytes_per_second = Figure(
        low=1.0, high=MOST_BYTES_PER_SECOND, metadata={"description": "Default: the network between nodes."}
    )


class InferenceQuestionSchema(StrictSchema):
    """What is asked of a model's serving."""

    model = EntryReference(
        required=True, metadata={"description": "A model's id or alias, or an inline object of its shape."}
    )
    system = EntryReference(
        required=True, metadata={"description": "A system's id or alias, or an inline object of its shape."}
    )
    gpus = Count(high=MOST_GPUS, metadata={"description": "All of them: whole replicas. Default: one replica."})
    tensor_parallel_size = Count(high=MOST_PARTS, metadata={"description": "Default: the GPUs that the rest leaves."})
    pipeline_parallel_size = Count(high=MOST_PARTS, metadata={"default": 1})
    expert_parallel_size = Count(high=MOST_PARTS, metadata={"description": "Parts that the experts are dealt to."})
    attention_data_parallel_size = Count(
        high=MOST_PARTS, metadata={"default": 1, "description": "Copies of the attention, each for its own requests."}
    )
    engine = Choice(ENGINES, metadata={"default": "generic", "description": "Whose constants and limits."})
    weight_dtype = Choice(WeightDtype, metadata={"default": "bf16", "description": "Format of the weights as served."})
    weight_group_size = Count(high=MOST_PARTS, metadata={"description": "Weights that share a scale, where not usual."})
    kv_dtype = Choice(KvDtype, metadata={"description": "Of keys and values. Default: fp8 beside weights of 8 bits."})
    input_sequence_length = Count(
        high=MOST_TOKENS, metadata={"default": USUAL_TOKENS, "description": "ISL, mean tokens."}
    )
    output_sequence_length = Count(
        high=MOST_TOKENS, metadata={"default": USUAL_TOKENS, "description": "OSL, mean tokens."}
    )
    batch_size = CountOrMax(
        high=MOST_BATCH,
        metadata={
            "description": "Requests at once in one replica; max, the default: as many as fit, or the limits let."
        },
    )
    concurrency = Count(
        high=MOST_BATCH, metadata={"description": "Clients of one replica, each asking again when it was answered."}
    )
    length_spread = Figure(metadata={"default": 0, "description": "Lengths are uniform within this share of the mean."})
    chunked_prefill_tokens = Count(high=MOST_TOKENS, metadata={"description": "Most tokens of one step."})
    ttft_slo_seconds = Seconds(metadata={"description": "Then batch_size max is the largest that meets it."})
    tpot_slo_seconds = Seconds(metadata={"description": "Likewise."})
    prefix_cache_hit_ratio = Figure(metadata={"default": 0, "description": "Share of the input already in the cache."})
    speculative = fields.Nested(SpeculationSchema, allow_none=True)
    disaggregated = fields.Nested(DisaggregationSchema, allow_none=True)


class PercentilesSchema(Schema):
    """What half, nine of ten and 99 of 100 requests stay within."""

    p50 = fields.Float(required=True)
    p90 = fields.Float(required=True)
    p99 = fields.Float(required=True)


class LatencyPercentilesSchema(Schema):
    """By latency."""

    ttft_seconds = fields.Nested(PercentilesSchema, required=True)
    tpot_seconds = fields.Nested(PercentilesSchema, required=True)
    end_to_end_seconds = fields.Nested(PercentilesSchema, required=True)


StepBreakdownSchema = Schema.from_dict(
    {each.name: fields.Float(required=True) for each in fields_of(StepBreakdown)}, name="StepBreakdownSchema"
)


class InferenceBreakdownSchema(Schema):
    """One decode step at the batch, and one prompt's prefill alone; parts sum to `seconds`."""

    decode_step = fields.Nested(StepBreakdownSchema, required=True)
    prefill = fields.Nested(StepBreakdownSchema, required=True)
    mixed_step_ratio = fields.Float(required=True, metadata={"description": "Share of steps that carry a prompt."})
    mixed_step_seconds = fields.Float(required=True)


class InferenceMemorySchema(Schema):
    """The fullest GPU; `kv_capacity_tokens` is the replica's."""

    weights_bytes = fields.Float(required=True)
    kv_bytes_per_token = fields.Float(required=True, metadata={"description": "Of the whole model."})
    kv_bytes = fields.Float(required=True)
    kv_capacity_tokens = fields.Integer(required=True)
    other_bytes = fields.Float(required=True)
    usable_bytes = fields.Float(required=True)
    capacity_bytes = fields.Float(required=True)


class DisaggregatedSchema(Schema):
    """How GPUs divide so that neither prefill nor decode waits."""

    prefill_replicas_per_decode_replica = fields.Float(required=True)
    prefill_gpus = fields.Float(required=True)
    decode_gpus = fields.Float(required=True)
    kv_transfer_bytes = fields.Float(required=True)
    kv_transfer_seconds = fields.Float(required=True)


class InferenceResultSchema(Schema):
    """The answer. `output_tokens_per_second` is the headline, which `range` bounds; rates are of all GPUs."""

    fits = fields.Boolean(required=True)
    shortfall_bytes = fields.Float(metadata={"description": "What one GPU lacks; there where it does not fit."})
    would_fit = fields.List(fields.String(), required=True, metadata={"description": "Changes, each enough alone."})
    max_batch_size = fields.Integer(required=True)
    max_context_tokens = fields.Integer(required=True)
    batch_size = fields.Integer(required=True)
    replicas = fields.Integer(required=True)
    ttft_seconds = fields.Float(required=True, allow_none=True)
    tpot_seconds = fields.Float(required=True, allow_none=True)
    output_tokens_per_second = fields.Float(required=True)
    output_tokens_per_second_per_gpu = fields.Float(required=True)
    output_tokens_per_second_per_user = fields.Float(required=True, allow_none=True)
    requests_per_second = fields.Float(required=True)
    queue_wait_seconds = fields.Float(required=True, allow_none=True)
    meets_slo = fields.Boolean(metadata={"description": "There when limits were given."})
    percentiles = fields.Nested(LatencyPercentilesSchema)
    bound_by = fields.String(
        required=True, metadata={"description": "hbm, compute, communication, launch, kv_capacity"}
    )
    breakdown = fields.Nested(InferenceBreakdownSchema)
    memory = fields.Nested(InferenceMemorySchema, required=True)
    disaggregated = fields.Nested(DisaggregatedSchema)


class InferenceIdealSchema(Schema):
    """The roofline at the batch that was asked for, and of a single stream."""

    batch_size = fields.Integer(required=True)
    tpot_seconds = fields.Float(required=True)
    ttft_seconds = fields.Float(required=True)
    output_tokens_per_second = fields.Float(required=True)
    single_stream_tokens_per_second = fields.Float(required=True)
    memory_seconds = fields.Float(required=True)
    compute_seconds = fields.Float(required=True)


class InferenceEstimateSchema(EstimateSchema):
    """How fast a model is served, and why."""

    result = fields.Nested(InferenceResultSchema, required=True)
    ideal = fields.Nested(InferenceIdealSchema, required=True)


def _ask(given: Mapping[str, Any]) -> InferenceQuestion:
    parts: dict[str, Any] = {}
    if "speculative" in given:
        parts["speculative"] = Speculation(**{k: v for k, v in given["speculative"].items() if v is not None})
    if "disaggregated" in given:
        parts["disaggregated"] = Disaggregation(**given["disaggregated"])
    return InferenceQuestion(**{**given, **parts})


def _curve(estimate: Estimate, question: InferenceQuestion, catalog: Catalog) -> Rows:
    columns = (
        "batch_size", "ttft_seconds", "tpot_seconds", "output_tokens_per_second", "output_tokens_per_second_per_gpu",
        "output_tokens_per_second_per_user", "pareto",
    )  # fmt: skip
    return [columns, *([getattr(each, name) for name in columns] for each in inference_curve(question, catalog))]


INFERENCE = EstimateKind(
    kind="inference",
    question=InferenceQuestionSchema(),
    answer=InferenceEstimateSchema(),
    dump=plain_dump(InferenceEstimateSchema()),
    ask=_ask,
    plan=estimate_inference,
    references={"model": "model", "system": "system"},
    table=_curve,
)


def inference() -> Response:
    """GET and POST."""
    return answer_estimate(INFERENCE)


_DESCRIPTION = (
    "How many tokens a second, with which latencies, from how many GPUs; as JSON, as a page (`format=text`), or the "
    "throughput-latency curve as a table (`format=csv`). What does not fit is `fits: false` with what would."
)
_EXAMPLES = {
    "one stream on one B200": {
        "model": "llama3.1-70b",
        "system": "dgx-b200",
        "gpus": 1,
        "engine": "trtllm",
        "weight_dtype": "fp8",
        "batch_size": 1,
    },
    "as many as meet limits": {
        "model": "llama3.1-70b",
        "system": "dgx-h100",
        "tensor_parallel_size": 4,
        "engine": "vllm",
        "weight_dtype": "fp8",
        "input_sequence_length": 1155,
        "output_sequence_length": 211,
        "ttft_slo_seconds": 1.0,
        "tpot_slo_seconds": 0.05,
    },
}

_ANSWERS = {
    200: Answer(
        "The estimate.",
        INFERENCE.answer,
        other_forms={
            "text/plain": "The same answer as a page to read.",
            "text/csv": "batch_size,ttft_seconds,tpot_seconds,output_tokens_per_second,…\n",
        },
    )
}

OPERATIONS = (
    Operation(
        "GET", "/v1/estimates/inference", "get_inference_estimate", "Estimates", "How fast a model is served",
        inference, _ANSWERS, "read", _DESCRIPTION, query=INFERENCE.question, problems=(406, 422),
    ),
    Operation(
        "POST", "/v1/estimates/inference", "post_inference_estimate", "Estimates", "How fast a model is served",
        inference, _ANSWERS, "read", _DESCRIPTION, body=INFERENCE.question, body_examples=_EXAMPLES,
        problems=(400, 406, 413, 415, 422),
    ),
)  # fmt: skip
