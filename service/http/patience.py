"""Ask what may hang, and go on without it."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TypeVar

Answer = TypeVar("Answer")

_asking = Lock()  # one question at a time: those that hang must not take every connection


def ask_within(seconds: float, question: Callable[[], Answer], otherwise: Answer) -> Answer:
    """Return the question's answer, or `otherwise` when it takes longer; what it raises is raised here.

    A question that was given up on still ends by itself, in a thread that does not keep the process alive.
    """
    give_up = monotonic() + seconds
    if not _asking.acquire(timeout=seconds):
        return otherwise
    answers: SimpleQueue[tuple[Answer, None] | tuple[None, BaseException]] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put((question(), None))
        except BaseException as error:  # it belongs to whoever waits
            answers.put((None, error))
        finally:
            _asking.release()

    Thread(target=ask, name="patience", daemon=True).start()
    try:
        answer, error = answers.get(timeout=max(0.0, give_up - monotonic()))
    except Empty:
        return otherwise
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # the one of the pair that is there
