"""What every estimate endpoint does: read a question, have it planned, write the answer in the form that was asked."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response, request
from marshmallow import Schema, ValidationError, fields

from service.catalog.catalog import Catalog
from service.errors import FieldProblem, StepcastError
from service.http.formats import chosen_format
from service.http.json_body import read_json_object
from service.http.json_text import refuse_non_finite, to_json
from service.http.metrics import count_estimate
from service.http.operations import services
from service.http.plain_dump import Dump
from service.http.query import other_parameters, read_query
from service.http.refusals import invalid_request
from service.http.strict_schema import StrictSchema
from service.http.text_pages import estimate_page
from service.planning.estimates import Estimate

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class EstimateKind:
    """One row of the table of estimates.

    Parameters
    ----------
    kind : str
        Last path segment of the endpoint.
    question : StrictSchema
        The request's shape.
    ask : Callable
        From the loaded fields to the planner's question.
    plan : Callable
        From the question and the catalogue to the estimate.
    dump : Dump
        From the estimate to the document that `answer` publishes.
    references : Mapping[str, str]
        Fields that name catalogue entries, and the catalogue's method that finds them.
    table : Callable
        From the estimate, the question and the catalogue to rows, the first one the names of the columns.
    """

    kind: str
    question: StrictSchema
    answer: Schema
    dump: Dump
    ask: Callable[[Mapping[str, Any]], Any]
    plan: Callable[[Any, Catalog], Estimate]
    references: Mapping[str, str]
    table: Callable[[Estimate, Any, Catalog], Rows]

    def read(self, document: Mapping[str, Any], catalog: Catalog, problems: Sequence[FieldProblem] = ()) -> Any:
        """Return the question that a document asks.

        Raises
        ------
        Refused
            422 with every problem: of the query, of the fields, and of the names where those are all that is left.
        """
        try:
            fields_given = self.question.load(document)
        except ValidationError as error:
            valid = error.valid_data if isinstance(error.valid_data, dict) else {}
            found = self.question.problems(error, document, problems) + self._unknown_names(valid, catalog)
            raise invalid_request(self.question.in_order(found)) from None
        if problems:
            raise invalid_request([*problems, *self._unknown_names(fields_given, catalog)])
        return self.ask({name: value for name, value in fields_given.items() if value is not None})

    def estimate(self, question: Any, catalog: Catalog) -> Estimate:
        """Have the question planned, and count it."""
        started = time.perf_counter()
        estimate = self.plan(question, catalog)
        count_estimate(self.kind, time.perf_counter() - started)
        return estimate

    def document(self, estimate: Estimate) -> dict[str, Any]:
        """Return an estimate as JSON; a figure that is not finite is a fault of ours, and raises ValueError."""
        document = self.dump(estimate)
        for part in ("result", "range", "ideal"):
            refuse_non_finite(document[part])
        return document

    def _unknown_names(self, given: Mapping[str, Any], catalog: Catalog) -> list[FieldProblem]:
        """Return what the planner would say of the names, which it never gets to see when the shape is wrong."""
        found: list[FieldProblem] = []
        for name, method in self.references.items():
            if given.get(name) is not None:
                try:
                    getattr(catalog, method)(given[name], pointer=f"/{name}")
                except StepcastError as refusal:
                    found += refusal.problems
        return found


def answer_estimate(kind: EstimateKind) -> Response:
    """Answer a GET or a POST of an estimate endpoint."""
    wanted = chosen_format(request)
    if request.method == "POST":
        problems = other_parameters(request.args)
        document = read_json_object(request)
    else:
        document, problems = read_query(request.args, kind.question)
    catalog = services().catalog.current()
    question = kind.read(document, catalog, problems)
    estimate = kind.estimate(question, catalog)
    if wanted == "text":
        return Response(estimate_page(estimate), content_type="text/plain; charset=utf-8")
    if wanted == "csv":
        return Response(_csv(kind.table(estimate, question, catalog)), content_type="text/csv; charset=utf-8")
    return json_response(kind.document(estimate))


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON answer, with the newline that a terminal wants."""
    return Response(to_json(document) + b"\n", status, headers=headers, content_type="application/json")


def _csv(rows: Rows) -> str:
    page = io.StringIO()
    csv.writer(page, lineterminator="\n").writerows(
        [str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows
    )
    return page.getvalue()


class RangeSchema(Schema):
    """Bounds of the headline figure."""

    low = fields.Float(required=True)
    high = fields.Float(required=True)
    coverage_ratio = fields.Float(required=True, metadata={"minimum": 0, "maximum": 1})
    basis_kind = fields.String(required=True, metadata={"enum": ["measured", "calibrated", "speed_of_light"]})
    basis = fields.String(required=True, metadata={"description": "The published measurements its width comes from."})


class DerivationLineSchema(Schema):
    """One step of the working."""

    symbol = fields.String(required=True)
    label = fields.String(required=True)
    expression = fields.String(required=True)
    value = fields.Raw(required=True, metadata={"type": ["number", "string"]})
    unit = fields.String(required=True)
    source = fields.String(required=True)


class WarningSchema(Schema):
    """Something to know before using the figure."""

    code = fields.String(required=True)
    message = fields.String(required=True)


class EstimateSchema(Schema):
    """What every estimate has; a kind adds its `result` and its `ideal`."""

    kind = fields.String(required=True)
    inputs = fields.Dict(
        keys=fields.String(),
        required=True,
        metadata={"description": "The question resolved: ids for aliases, defaults filled in."},
    )
    range = fields.Nested(RangeSchema, required=True)
    derivation = fields.List(fields.Nested(DerivationLineSchema), required=True)
    warnings = fields.List(fields.Nested(WarningSchema), required=True)
    engine_version = fields.String(required=True)
    catalog_revision = fields.String(required=True)
