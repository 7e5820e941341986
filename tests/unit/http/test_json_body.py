"""What RFC 8259 does not allow, or leaves open, gets an explicit answer."""

from __future__ import annotations

import pytest

from service.http.json_body import HugeNumber, number_or_text, parse_object
from service.http.refusals import Refused


def refused(body: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        parse_object(body)
    return caught.value


def test_a_plain_object_is_read() -> None:
    assert parse_object(b' {"gpus": 8.0, "size_bytes": "1GiB", "deep": {"list": [1, null, true]}} ') == {
        "gpus": 8.0,
        "size_bytes": "1GiB",
        "deep": {"list": [1, None, True]},
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"gpus": 8', "line 1"),
        (b"{'gpus': 8}", "line 1"),
        (b'{"gpus": 8}{}', "Extra data"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'\xef\xbb\xbf{"gpus": 8}', "byte order mark"),
        ('{"gpus": 8}'.encode("utf-16"), "UTF-8"),
        (b'{"a": "raw \x00 NUL"}', "control character"),
        (b"[" * 100_000, "deep"),
        (b'{"a":' * 100_000, "deep"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "deep"),
        (b"[" * 40 + b"]" * 40, "deep"),
        (b'{"gpus": 010}', "line 1"),
    ],
)
def test_what_is_not_json_is_malformed(body: bytes, words: str) -> None:
    refusal = refused(body)
    assert refusal.code == "malformed-json"
    assert words in refusal.detail


def test_every_key_given_twice_is_named() -> None:
    refusal = refused(b'{"gpus": 8, "gpus": 16, "system": {"a~/b": 1, "a~/b": 2}}')
    assert refusal.code == "malformed-json"
    assert [problem.pointer for problem in refusal.problems] == ["/gpus", "/system/a~0~1b"]
    assert refusal.problems[0].value == "gpus"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_javascript_numbers_are_not_json(number: str) -> None:
    refusal = refused(f'{{"traffic": {{"rate": {number}}}}}'.encode())
    assert refusal.code == "malformed-json"
    assert [(problem.pointer, problem.value) for problem in refusal.problems] == [("/traffic/rate", number)]
    assert parse_object(f'{{"name": "{number}"}}'.encode()) == {"name": number}


@pytest.mark.parametrize("body", [b"[]", b"8", b'"text"', b"null", b"true", b'[{"gpus": 8}]'])
def test_json_that_is_no_object_makes_no_sense(body: bytes) -> None:
    refusal = refused(body)
    assert refusal.code == "invalid-request"
    assert refusal.problems[0].pointer == ""


@pytest.mark.parametrize("text", [r"nul \u0000", r"half \ud800", r"other half \udc00"])
def test_text_that_no_database_keeps_is_refused(text: str) -> None:
    refusal = refused(f'{{"tags": ["fine", "{text}"]}}'.encode())
    assert refusal.code == "invalid-request"
    assert refusal.problems[0].pointer == "/tags/1"
    assert refused(f'{{"{text}": 1}}'.encode()).code == "invalid-request"
    assert parse_object(rb'{"whole": "\ud83d\ude00 \u00d7"}') == {"whole": "😀 ×"}


def test_numbers_beyond_floats_are_kept_as_written_for_the_fields_to_refuse() -> None:
    document = parse_object(b'{"a": 1e400, "b": -1e400, "c": %s, "d": %s}' % (b"9" * 400, b"9" * 5000))
    assert isinstance(document["a"], HugeNumber)
    assert document["a"].text == "1e400"
    assert document["b"] == float("-inf")
    assert document["c"] == int("9" * 400)
    assert isinstance(document["d"], HugeNumber)


def test_numbers_beyond_floats_inside_free_form_documents_are_refused() -> None:
    refusal = refused(b'{"system": {"a": 1e400, "b": [%s]}}' % (b"9" * 400))
    assert [problem.pointer for problem in refusal.problems] == ["/system/a", "/system/b/0"]


@pytest.mark.parametrize(
    ("text", "number"), [("8", 8), ("8.0", 8.0), ("8e0", 8.0), ("1e3", 1000.0), ("-1", -1), ("0.5", 0.5)]
)
def test_query_text_is_read_as_the_json_number_it_looks_like(text: str, number: float) -> None:
    assert number_or_text(text) == number


@pytest.mark.parametrize("text", ["", "+8", "08", "8.", ".5", "0x8", "1_000", "NaN", "inf", "٨", " 8", "1e", "8 "])
def test_query_text_that_is_no_json_number_stays_text(text: str) -> None:
    assert number_or_text(text) == text
