"""What gunicorn refuses by itself leaves as a problem document."""

from __future__ import annotations

import json

import pytest

from service.cli.worker import problem_page


@pytest.mark.parametrize(
    ("status", "type_"),
    [(400, "/problems/bad-request"), (414, "about:blank"), (500, "/problems/internal-error"), (501, "about:blank")],
)
def test_the_page_is_a_whole_answer(status: int, type_: str) -> None:
    head, body = problem_page(status).split(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0].startswith(f"HTTP/1.1 {status} ")
    assert f"Content-Length: {len(body)}" in lines
    assert "Connection: close" in lines
    document = json.loads(body)
    assert (document["status"], document["type"]) == (status, type_)
    assert f"X-Request-ID: {document['request_id']}" in lines
