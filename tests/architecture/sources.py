"""What the architecture tests read: the files of the service, parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "service"


@cache
def modules() -> dict[str, ast.Module]:
    """Return every module of the service by its path from the root; test ids are these paths."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SERVICE.rglob("*.py"))
    }


def defines_functions(module: ast.Module) -> bool:
    """Return whether there is anything in it to call: vocabulary and constants need no test of their own."""
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(module))


def public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield the public functions and classes of a body."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
