"""A question that hangs costs its time limit, once."""

from __future__ import annotations

import threading
import time

import pytest

from service.http.patience import ask_within


def test_an_answer_in_time_is_the_answer() -> None:
    assert ask_within(5.0, lambda: "answer", "otherwise") == "answer"
    assert ask_within(5.0, lambda: None, "otherwise") is None


def test_what_it_raises_is_raised_and_the_next_may_ask() -> None:
    def fail() -> str:
        raise KeyError("ours")

    for _ in range(2):
        with pytest.raises(KeyError, match="ours"):
            ask_within(5.0, fail, "otherwise")


def test_one_that_hangs_is_given_up_on_and_asked_once_only() -> None:
    asked, hang = [], threading.Event()

    def question() -> str:
        asked.append(None)
        hang.wait(10)
        return "late"

    began = time.monotonic()
    assert ask_within(0.1, question, "otherwise") == "otherwise"
    assert ask_within(0.1, question, "otherwise") == "otherwise"
    assert time.monotonic() - began < 5
    assert len(asked) == 1  # the second did not take another thread
    hang.set()
    assert ask_within(5.0, lambda: "back", "otherwise") == "back"
