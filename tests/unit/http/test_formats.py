"""?format= wins over Accept; what is not offered is refused."""

from __future__ import annotations

import pytest
from flask import Request
from werkzeug.test import create_environ

from service.http.formats import chosen_format
from service.http.refusals import Refused


def chosen(accept: str | None, query: str = "", offered: tuple[str, ...] = ("json", "text", "csv")) -> str:
    headers = {} if accept is None else {"Accept": accept}
    return chosen_format(Request(create_environ("/", query_string=query, headers=headers)), offered)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, "json"),
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("application/*", "json"),
        ("text/plain", "text"),
        ("text/csv", "csv"),
        ("text/csv;q=0.5, text/plain", "text"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "json"),
        ("application/problem+json, application/json", "json"),
    ],
)
def test_accept_is_honoured(accept: str | None, form: str) -> None:
    assert chosen(accept) == form


def test_the_query_wins() -> None:
    assert chosen("application/json", "format=csv") == "csv"
    assert chosen("application/xml", "format=text") == "text"


@pytest.mark.parametrize("accept", ["application/xml", "image/*", "nonsense", "application/json;q=0"])
def test_nothing_else_is_acceptable(accept: str) -> None:
    with pytest.raises(Refused) as caught:
        chosen(accept)
    assert caught.value.code == "not-acceptable"
    assert caught.value.problems[0].allowed == ["application/json", "text/plain", "text/csv"]


@pytest.mark.parametrize("query", ["format=xml", "format=", "format=json&format=text", "format=JSON"])
def test_a_format_that_is_not_offered_makes_no_sense(query: str) -> None:
    with pytest.raises(Refused) as caught:
        chosen(None, query)
    assert caught.value.code == "invalid-request"
    assert caught.value.problems[0].pointer == "/format"


def test_only_what_is_offered_is_chosen() -> None:
    with pytest.raises(Refused):
        chosen("text/csv", offered=("json",))
