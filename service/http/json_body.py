"""JSON as RFC 8259 means it: what the default parser lets through in silence is refused here, with a pointer.

The default parser keeps the last of two equal keys, takes NaN and Infinity, reads 1e400 as infinity and recurses
until it breaks. Text with NUL or half a surrogate pair is JSON, but no database keeps it, so it is refused as well.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from flask import Request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from service.errors import FieldProblem
from service.http.refusals import Refused, invalid_request

MAX_DEPTH: Final = 32
_FLOAT_BITS: Final = sys.float_info.max_exp
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class HugeNumber(float):
    """A number too large for a float, or an integer too long to convert: infinite, and remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> HugeNumber:
        number = super().__new__(cls, "-inf" if text.startswith("-") else "inf")
        number.text = text
        return number


class _NotJson(str):
    """NaN or Infinity, which are JavaScript but not JSON."""


class _Repeated(dict[str, Any]):
    """An object that has a key twice."""

    keys_given_twice: tuple[str, ...] = ()


def parse_float(text: str) -> float:
    """Return the number, or a `HugeNumber` where a float would silently be infinite."""
    number = float(text)
    return HugeNumber(text) if number in (float("inf"), float("-inf")) else number


def parse_int(text: str) -> int | float:
    """Return the integer; one of more digits than Python converts is a `HugeNumber`."""
    return int(text) if len(text) < 4000 else HugeNumber(text)


def number_or_text(text: str) -> int | float | str:
    """Read a query parameter as the JSON number it looks like, or leave it as text: 8, 8.0 and 1e3 are numbers."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    return parse_int(text) if found[2] is None and found[3] is None else parse_float(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    repeated = _Repeated(members)
    names = [name for name, _ in pairs]
    repeated.keys_given_twice = tuple(name for name in members if names.count(name) > 1)
    return repeated


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=parse_float, parse_int=parse_int, parse_constant=_NotJson
)


def malformed(message: str, *problems: FieldProblem) -> Refused:
    """Return the 400 for a body that is not JSON."""
    return Refused("malformed-json", message, problems)


def read_json_object(request: Request) -> dict[str, Any]:
    """Return the request's body as an object.

    Raises
    ------
    Refused
        415 for another content type, 400 for what is not JSON, 422 for JSON that is no object or cannot be kept.
        A body over the limit is werkzeug's RequestEntityTooLarge.
    """
    if request.mimetype != "application/json":
        given = request.mimetype
        why = f"{given} is not taken" if given else "the request has no Content-Type"
        problem = FieldProblem("", why, given or None, ["application/json"], "application/json")
        raise Refused("unsupported-media-type", f"{why}; send application/json", [problem])
    try:
        body = request.get_data(cache=False)
    except HTTPException:  # too large, or the client went away
        raise
    except Exception:  # each server has its own for a chunk that is none
        raise Refused("bad-request", "the body cannot be read: it ends early, or its chunks are malformed") from None
    # Werkzeug cuts a chunked body at the limit without a word.
    if request.max_content_length is not None and len(body) >= request.max_content_length:
        raise RequestEntityTooLarge
    return parse_object(body)


def parse_object(body: bytes) -> dict[str, Any]:
    """Return a JSON object, or raise Refused; see `read_json_object`."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as why:
        raise malformed(f"the body is not UTF-8 text: byte {why.start} cannot be read") from None
    if not text.strip(" \t\r\n"):
        raise malformed("the body is empty; send a JSON object")
    if text.startswith("\ufeff"):
        raise malformed("the body starts with a byte order mark; send UTF-8 without one")
    try:
        document = _DECODER.decode(text)
    except json.JSONDecodeError as why:
        raise malformed(f"{why.msg} at line {why.lineno}, column {why.colno}") from None
    except RecursionError:
        raise malformed(f"the body is nested more than {MAX_DEPTH} deep") from None
    # Most bodies are flat and plain and need no second look.
    flat = type(document) is dict and text.count("{") == 1 and "[" not in text
    if not flat or "\\u" in text or "NaN" in text or "Infinity" in text:
        _refuse_defects(document)
    if not isinstance(document, dict):
        problem = FieldProblem("", "must be a JSON object", document, 'an object, such as {"gpus": 8}')
        raise invalid_request([problem])
    return document


def _refuse_defects(document: Any) -> None:
    unreadable, unstorable = [], []
    for pointer, value in _walk(document):
        if isinstance(value, _Repeated):
            unreadable += [
                FieldProblem(f"{pointer}/{escape(name)}", f"the key {name!r} is given twice", name, "each key once")
                for name in value.keys_given_twice
            ]
        elif isinstance(value, _NotJson):
            unreadable.append(FieldProblem(pointer, f"{value} is not JSON", str(value), "a finite number"))
        elif isinstance(value, str) and (problem := unstorable_text(pointer, value)):
            unstorable.append(problem)
        elif isinstance(value, HugeNumber) or (type(value) is int and value.bit_length() > _FLOAT_BITS):
            unstorable.append(FieldProblem(pointer, "is too large a number", value, "a number that a float can hold"))
    if unreadable:
        raise malformed("; ".join(problem.message for problem in unreadable), *unreadable)
    if unstorable:
        raise invalid_request(unstorable)


def unstorable_text(pointer: str, text: str) -> FieldProblem | None:
    """Return what is wrong with text that holds NUL or half a surrogate pair, if it does."""
    if not _UNSTORABLE.search(text):
        return None
    allowed = "text without NUL or unpaired surrogates"
    return FieldProblem(pointer, "holds a character that cannot be kept", text, allowed, _UNSTORABLE.sub("", text))


def _walk(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value with its pointer, in order, without recursion; keys of objects count as values too."""
    pending: list[tuple[str, Any, int]] = [("", document, 0)]
    while pending:
        pointer, value, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise malformed(f"the body is nested more than {MAX_DEPTH} deep", FieldProblem(pointer, "nested too deep"))
        yield pointer, value
        if isinstance(value, dict):
            for name in value:
                yield f"{pointer}/{escape(name)}", name
            pending += [(f"{pointer}/{escape(name)}", item, depth + 1) for name, item in reversed(value.items())]
        elif isinstance(value, list):
            pending += [(f"{pointer}/{index}", item, depth + 1) for index, item in reversed(list(enumerate(value)))]


def escape(name: str) -> str:
    """Return a member's name as a JSON pointer spells it."""
    return name.replace("~", "~0").replace("/", "~1")
