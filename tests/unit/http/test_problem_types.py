"""The table of problems is whole, and every refusal of the house is in it."""

from __future__ import annotations

import pytest
from werkzeug.exceptions import Gone, NotFound, RequestURITooLarge

from service import errors
from service.errors import FieldProblem
from service.http.problem_types import PROBLEM_TYPES, status_of
from service.http.problems import problem_response
from service.http.refusals import Refused, inside
from tests.fakes import fake_app


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (errors.UnknownCatalogEntry, 422),
        (errors.AmbiguousAlias, 422),
        (errors.UnsupportedRankCount, 422),
        (errors.InvalidCatalogEntry, 422),
        (errors.ScenarioNotFound, 404),
        (errors.CatalogEntryConflict, 409),
        (errors.IdempotencyConflict, 409),
        (errors.StoreUnavailable, 503),
        (errors.StoreFull, 507),
    ],
)
def test_every_refusal_has_a_status_and_a_page(refusal: type[errors.StepcastError], status: int) -> None:
    assert status_of(refusal) == status
    assert PROBLEM_TYPES[refusal.code].status == status


@pytest.mark.parametrize("raised", [errors.StoreUnavailable("away"), errors.StoreFull("full"), NotFound(), Gone()])
def test_whatever_is_raised_is_answered_as_a_problem(raised: Exception) -> None:
    app = fake_app()

    @app.get("/raises")
    def _raises() -> str:
        raise raised

    answer = app.test_client().get("/raises")
    assert answer.content_type == "application/problem+json"
    assert answer.get_json()["status"] == answer.status_code >= 400
    assert ("Retry-After" in answer.headers) == (answer.status_code == 503)


def test_statuses_without_a_page_are_about_blank() -> None:
    app = fake_app()

    @app.get("/raises")
    def _raises() -> str:
        raise RequestURITooLarge

    document = app.test_client().get("/raises").get_json()
    assert (document["type"], document["status"]) == ("about:blank", 414)
    assert document["title"]


def test_answers_stay_small_however_much_is_wrong() -> None:
    problems = [FieldProblem("/" + "p" * 5000, "m" * 5000, "v" * 5000, ["a" * 5000] * 5000, "s" * 5000)] * 5000
    with fake_app().test_request_context():
        answer = problem_response("invalid-request", "d" * 100_000, problems)
    assert len(answer.get_json()["errors"]) == 100
    assert len(answer.get_json()["detail"]) < 2000


def test_refusals_point_to_where_the_question_sits() -> None:
    for raised in (
        Refused("invalid-request", "", [FieldProblem("/gpus", "")]),
        errors.InvalidScenario("", [FieldProblem("", "")]),
    ):
        with pytest.raises(type(raised)) as caught, inside("/inputs"):
            raise raised
        assert caught.value.problems[0].pointer.startswith("/inputs")
