"""GET and POST /v1/estimates/collective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

from flask import Response
from marshmallow import Schema, fields

from service.catalog.catalog import Catalog
from service.core.collectives.cost import Algorithm, Collective, Protocol
from service.core.collectives.expert_exchange import ExpertKernel, Phase
from service.core.numerics import Dtype
from service.http.estimates import EstimateKind, EstimateSchema, Rows, answer_estimate
from service.http.fields import MOST_GPUS, Choice, Count, EntryReference, Seconds, Size, Switch, Text
from service.http.operations import Answer, Operation
from service.http.plain_dump import plain_dump
from service.http.strict_schema import StrictSchema
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion
from service.planning.estimates import Estimate
from service.planning.expert_exchange import estimate_expert_exchange
from service.planning.expert_question import ExpertQuestion

MOST_TOKENS, MOST_HIDDEN, MOST_EXPERTS, MOST_SMS = 10_000_000, 1_000_000, 100_000, 1_000


class CollectiveQuestionSchema(StrictSchema):
    """What is asked of a collective."""

    system = EntryReference(
        required=True, metadata={"description": "A system's id or alias, or an inline object of its shape."}
    )
    collective = Choice(
        (*Collective, *Phase),
        required=True,
        metadata={"description": "Named as in nccl-tests; or expert_dispatch, expert_combine, which take tokens."},
    )
    gpus = Count(high=MOST_GPUS, required=True, metadata={"description": "Ranks of the group, one a GPU."})
    tokens = Count(high=MOST_TOKENS, metadata={"description": "Experts: tokens of one rank."})
    hidden_size = Count(high=MOST_HIDDEN, metadata={"description": "Experts: elements of a token."})
    top_k = Count(high=MOST_EXPERTS, metadata={"description": "Experts: how many of them a token goes to."})
    num_experts = Count(high=MOST_EXPERTS, metadata={"description": "Experts: of the layer."})
    expert_parallel_size = Count(
        high=MOST_GPUS, metadata={"description": "Experts: ranks that share them. Default: all gpus."}
    )
    kernel = Choice(
        ExpertKernel,
        auto=True,
        metadata={"default": "auto", "description": "Experts: whose kernel; auto takes the implementation's fastest."},
    )
    sms = Count(high=MOST_SMS, metadata={"description": "Experts: SMs given to DeepEP. Default: the most measured."})
    gpus_per_node = Count(
        high=MOST_GPUS, metadata={"description": "Ranks that share a node. Default: nodes, and NVLink domains, filled."}
    )
    size_bytes = Size(
        metadata={
            "description": "The size column of nccl-tests: all-gather total received, reduce-scatter total sent, "
            "all-to-all total sent per rank. Give this or `model`."
        }
    )
    model = EntryReference(
        metadata={
            "description": "A model whose whole gradient buffer, in `dtype`, is the size. Give this or `size_bytes`."
        }
    )
    dtype = Choice(Dtype, load_default=Dtype.BF16, metadata={"default": "bf16", "description": "Element type."})
    algorithm = Choice(
        Algorithm,
        auto=True,
        metadata={
            "default": "auto",
            "description": "As NCCL names them, and as frameworks do (one_shot, two_shot, multimem); auto takes the "
            "implementation's own choice.",
        },
    )
    protocol = Choice(
        Protocol,
        auto=True,
        metadata={"default": "auto", "description": "NCCL's wire protocol; auto takes the fastest."},
    )
    launch = Choice(
        ("eager", "graph"), metadata={"default": "eager", "description": "Launched one by one, or in a CUDA graph."}
    )
    implementation = Choice(
        ("nccl", "trtllm", "vllm", "sglang"),
        metadata={
            "default": "nccl",
            "description": "Whose kernels run. Default for experts: sglang.node, and leave the rest to NCCL.",
        },
    )
    registered_buffers = Switch(
        metadata={"default": False, "description": "Whether the buffers are registered in NCCL's symmetric windows."}
    )
    nccl_version = Text(
        longest=32,
        pattern=r"^[0-9]+(\.[0-9]+){0,3}$",
        metadata={"description": "Such as 2.27.3: what it has, and how it chooses. Default: 2.30.7."},
    )
    overlap_window_seconds = Seconds(
        metadata={"description": "Time that may hide the collective, such as the backward pass; adds exposed_seconds."}
    )


class CandidateSchema(Schema):
    """One way of doing it."""

    algorithm = fields.String(required=True)
    protocol = fields.String(
        required=True, allow_none=True, metadata={"description": "NCCL's; null for a framework's kernel."}
    )
    seconds = fields.Float(required=True, allow_none=True, metadata={"description": "null where not available."})
    available = fields.Boolean(required=True)
    why_not = fields.String()


class NcclSettingSchema(Schema):
    """An NCCL environment variable, a value that changes the way taken, and what that way takes."""

    variable = fields.String(required=True, metadata={"description": "NCCL_ALGO, NCCL_PROTO, NCCL_MAX_CTAS, …"})
    value = fields.String(required=True)
    algorithm = fields.String(required=True)
    protocol = fields.String(required=True)
    seconds = fields.Float(required=True)
    ratio = fields.Float(required=True, metadata={"description": "Its time over that of NCCL's own choice."})


class CollectiveResultSchema(Schema):
    """The answer. `seconds` is the headline, which `range` bounds."""

    seconds = fields.Float(required=True)
    exposed_seconds = fields.Float(metadata={"description": "What no window hides; there when a window was given."})
    algbw_bytes_per_second = fields.Float(required=True)
    busbw_bytes_per_second = fields.Float(required=True, metadata={"description": "As nccl-tests defines it."})
    bytes_on_wire_per_gpu = fields.Float(required=True)
    algorithm = fields.String(required=True, allow_none=True, metadata={"description": "null for a single rank."})
    protocol = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "NCCL's; null for a single rank and for a framework's kernel."},
    )
    steps = fields.Integer(required=True)
    latency_seconds = fields.Float(required=True)
    bandwidth_seconds = fields.Float(required=True)
    bottleneck = fields.String(required=True, metadata={"description": "nvlink, nic, pcie, latency, …"})
    size_bytes = fields.Integer(required=True)
    candidates = fields.List(fields.Nested(CandidateSchema), required=True)
    environment = fields.List(fields.Nested(NcclSettingSchema), required=True)


class CollectiveIdealSchema(Schema):
    """The textbook bound: the ring formula at the rate of one direction, and at the headline that sums both."""

    seconds = fields.Float(required=True)
    headline_seconds = fields.Float(required=True)
    bandwidth_bytes_per_second = fields.Float(required=True)
    headline_bandwidth_bytes_per_second = fields.Float(required=True)


class CollectiveEstimateSchema(EstimateSchema):
    """How long a collective takes, and why."""

    result = fields.Nested(CollectiveResultSchema, required=True)
    ideal = fields.Nested(CollectiveIdealSchema, required=True)


def _ask(given: Mapping[str, Any]) -> CollectiveQuestion | ExpertQuestion:
    if given["collective"] in list(Phase):
        asked = {name: value for name, value in given.items() if name in _EXPERT_FIELDS}
        others = {name: value for name, value in given.items() if name in _COLLECTIVE_ONLY and value}
        return ExpertQuestion(**asked, others=others)
    asked = {name: value for name, value in given.items() if name in _COLLECTIVE_FIELDS}
    others = {name: value for name, value in given.items() if name in _EXPERTS_ONLY}
    return CollectiveQuestion(**asked, others=others)


def _plan(question: CollectiveQuestion | ExpertQuestion, catalog: Catalog) -> Estimate:
    if isinstance(question, ExpertQuestion):
        return estimate_expert_exchange(question, catalog)
    return estimate_collective(question, catalog)


_EXPERT_FIELDS = {field.name for field in fields_of(ExpertQuestion)} - {"others"}
_COLLECTIVE_FIELDS = {field.name for field in fields_of(CollectiveQuestion)} - {"others"}
_EXPERTS_ONLY, _COLLECTIVE_ONLY = _EXPERT_FIELDS - _COLLECTIVE_FIELDS, _COLLECTIVE_FIELDS - _EXPERT_FIELDS


def _candidates(estimate: Estimate, *_: object) -> Rows:
    columns = ("algorithm", "protocol", "seconds", "available", "why_not")
    return [columns, *([getattr(each, name) for name in columns] for each in estimate.result.candidates)]


COLLECTIVE = EstimateKind(
    kind="collective",
    question=CollectiveQuestionSchema(),
    answer=CollectiveEstimateSchema(),
    dump=plain_dump(CollectiveEstimateSchema()),
    ask=_ask,
    plan=_plan,
    references={"system": "system", "model": "model"},
    table=_candidates,
)


def collective() -> Response:
    """Answer GET and POST."""
    return answer_estimate(COLLECTIVE)


_ANSWERS = {
    200: Answer(
        "The estimate.",
        COLLECTIVE.answer,
        other_forms={
            "text/plain": "The same answer as a page to read.",
            "text/csv": "algorithm,protocol,seconds,available,why_not\n",
        },
    )
}
_DESCRIPTION = (
    "Latency and bandwidth of NCCL's algorithms and protocols on the system's links, fitted to published measurements "
    "where there are any. `ideal` is the textbook bound with the same inputs."
)
_EXAMPLES = {
    "one node": {"system": "dgx-h100", "collective": "all_reduce", "gpus": 8, "size_bytes": "1GiB"},
    "gradients of a model": {"system": "gb200-nvl72", "collective": "all_reduce", "gpus": 64, "model": "llama3-70b"},
}

OPERATIONS = (
    Operation(
        "GET", "/v1/estimates/collective", "get_collective_estimate", "Estimates", "How long a collective takes",
        collective, _ANSWERS, "read", _DESCRIPTION, query=COLLECTIVE.question, problems=(406, 422),
    ),
    Operation(
        "POST", "/v1/estimates/collective", "post_collective_estimate", "Estimates", "How long a collective takes",
        collective, _ANSWERS, "read", _DESCRIPTION, body=COLLECTIVE.question, body_examples=_EXAMPLES,
        problems=(400, 406, 413, 415, 422),
    ),
)  # fmt: skip
