"""Rooms are small, named for their subject, free of `assert` and of stray unit factors; the core explains itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, modules, public

MOST_LINES = 400
NOT_A_SUBJECT = {"utils", "util", "helpers", "helper", "common", "shared", "misc"}
CONVERTS_UNITS = "service/catalog/quantities.py"

# Module-level constants that look like a unit factor and are none. Each has its reason beside it in the code.
NOT_A_UNIT = {
    "service/catalog/calibrations.py": {"_PATHS_KEPT"},
    "service/planning/collective_accuracy.py": {"_BANDS"},
    "service/planning/inference_question.py": {"USUAL_TOKENS"},
    "service/planning/training_resolve.py": {"USUAL_TOKENS"},
    "service/core/collectives/in_network.py": {"_CHUNK_BYTES", "_SMALLEST_CHUNK_BYTES"},
    "service/core/collectives/nvls_tree.py": {"_LARGEST_CHUNK_BYTES", "_CHUNK_BYTES"},
    "service/core/collectives/ring.py": {"_CHANNEL_TRAFFIC_BYTES", "_PIPELINE_CHUNK_BYTES"},
}

POWERS_OF_TWO = {2**exponent for exponent in range(10, 61)}
POWERS_OF_TEN = {10**exponent for exponent in range(3, 19)}
SCALES = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
every_module = pytest.mark.parametrize("path", modules())
every_core_module = pytest.mark.parametrize("path", [p for p in modules() if p.startswith("service/core/")])


@every_module
def test_is_short(path: str) -> None:
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@every_module
def test_is_named_for_a_subject(path: str) -> None:
    assert NOT_A_SUBJECT.isdisjoint(path.removesuffix(".py").split("/"))


@every_module
def test_refuses_with_an_error_not_with_assert(path: str) -> None:
    assert [node.lineno for node in ast.walk(modules()[path]) if isinstance(node, ast.Assert)] == []


@every_module
def test_converts_no_units(path: str) -> None:
    if path != CONVERTS_UNITS:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert list(unit_factors(text, NOT_A_UNIT.get(path, set()))) == []


@pytest.mark.parametrize(
    "code",
    ["x = y * 1e9", "RATE = 1e12", "x = 1024", "x = 1048576 * y", "x = 2**30", "x = 10**9", "x = y / 1_000_000",
     "x = 1 << 20", "x = y / 1000", "x = y * 1e-6", "f(65536)", "LIMIT = 4096"],
)  # fmt: skip
def test_unit_factors_are_seen(code: str) -> None:
    assert list(unit_factors(code, set()))


@pytest.mark.parametrize(
    "code", ["f(high=1_000_000_000)", "x = (a / b) ** c", "x = 1 << 12", "MOST = 10_000_000", "x = 2 * (n - 1)"]
)
def test_bounds_and_formulas_are_not_unit_factors(code: str) -> None:
    assert list(unit_factors(code, set())) == []


def test_every_exception_is_used_named_and_explained() -> None:
    for path, names in NOT_A_UNIT.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        lines = text.splitlines()
        constants = {name: node.lineno for node, name in _constants(ast.parse(text))}
        assert names <= set(constants), f"{path} has no such constant: {names - set(constants)}"
        for name in names:
            assert list(unit_factors(text, names - {name})), f"{path}: {name} needs no exception"
            block = lines[: constants[name]]
            while "" in block:
                block = block[block.index("") + 1 :]
            assert any("#" in line for line in block), f"{path}: {name} has no comment"


@every_core_module
def test_core_explains_itself(path: str) -> None:
    assert list(_unexplained(modules()[path])) == []


def unit_factors(text: str, exceptions: set[str]) -> Iterator[str]:
    """Yield what could convert a unit: powers of two, powers of ten that scale, `1e9`, `2**`, `10**`, `1 << 20`."""
    module, lines = ast.parse(text), [line.encode() for line in text.splitlines()]
    excepted = {id(child) for node, name in _constants(module) if name in exceptions for child in ast.walk(node)}
    scaling = {
        id(operand)
        for node in ast.walk(module)
        if isinstance(node, ast.BinOp) and isinstance(node.op, SCALES)
        for operand in (node.left, node.right)
    }
    for node in ast.walk(module):
        if id(node) in excepted:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            base, exponent = (getattr(side, "value", None) for side in (node.left, node.right))
            if base in (2, 10) if isinstance(node.op, ast.Pow) else base == 1 and exponent in (10, 20, 30, 40):
                yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            written = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            with_exponent = "e" in written.lower()
            scales = node.value in POWERS_OF_TEN and (with_exponent or id(node) in scaling)
            if node.value in POWERS_OF_TWO or scales or (with_exponent and 0 < node.value < 1):
                yield f"line {node.lineno}: {written}"


def _constants(module: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name):
                yield node, target.id


def _unexplained(module: ast.Module) -> Iterator[str]:
    for node in public(module.body):
        docstring = ast.get_docstring(node) or ""
        if not docstring:
            yield f"{node.name}: no docstring"
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{m.name}: no docstring" for m in public(node.body) if not ast.get_docstring(m))
            continue
        if not re.search(r"^Source\n------$", docstring, re.MULTILINE):
            yield f"{node.name}: no Source"
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        section = re.search(r"^Parameters\n----------\n((?:.*\n?)*?)(?=^\w+\n-+$|\Z)", docstring, re.MULTILINE)
        described = re.findall(r"^(\w+(?:, \w+)*) : ", section[1], re.MULTILINE) if section else []
        for name in set(names) - {name for line in described for name in line.split(", ")}:
            yield f"{node.name}: {name} is not described"
