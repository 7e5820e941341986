"""What the front door itself refuses: shape, format, access. Sense is refused further in, by `service.errors`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from service.errors import FieldProblem, StepcastError


class Refused(Exception):
    """A request that goes no further; `code` is a row of `service.http.problem_types`."""

    def __init__(
        self, code: str, detail: str, problems: Sequence[FieldProblem] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.problems = tuple(problems)
        self.headers = dict(headers or {})


def invalid_request(problems: Sequence[FieldProblem]) -> Refused:
    """Return the 422 for JSON (or a query) that a schema does not take."""
    named = (f"{problem.pointer.removeprefix('/') or 'the body'} {problem.message}" for problem in problems)
    return Refused("invalid-request", "; ".join(named), problems)


@contextmanager
def inside(pointer: str) -> Iterator[None]:
    """Let refusals raised within point to where the question sits in the body: `/inputs/gpus`, not `/gpus`."""
    try:
        yield
    except (StepcastError, Refused) as refusal:
        refusal.problems = tuple(replace(problem, pointer=pointer + problem.pointer) for problem in refusal.problems)
        raise
