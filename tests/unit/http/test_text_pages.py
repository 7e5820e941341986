"""The page says what the document says, in lines that fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from service.http.text_pages import WIDTH, estimate_page
from service.planning.estimates import DerivationLine, Estimate, EstimateRange, EstimateWarning


@dataclass(frozen=True)
class Way:
    algorithm: str
    seconds: float | None
    available: bool
    why_not: str | None = None


@dataclass(frozen=True)
class Result:
    seconds: float = 0.0042
    rate_bytes_per_second: float = 480e9
    bytes_on_wire_per_gpu: float = 2e9
    tokens_per_second: float = 1234.5
    mfu_ratio: float = 0.41
    steps: int = 14
    fits: bool = True
    nothing: None = None
    ways: tuple[Way, ...] = (Way("ring", 0.0042, True), Way("tree", None, False, "it is a long story " * 20))


@dataclass(frozen=True)
class Ideal:
    seconds: float = 0.004
    headline_seconds: float = 0.002


def page(**changes: Any) -> str:
    fields: dict[str, Any] = {
        "kind": "collective",
        "inputs": {"system": "dgx-h100", "size_bytes": 2**30, "model": None, "registered_buffers": False},
        "result": Result(),
        "range": EstimateRange(0.0039, 0.0045, 0.9, "calibrated", "what was measured " * 20),
        "ideal": Ideal(),
        "derivation": (
            DerivationLine("t", "time " * 40, "2 × (8 − 1) / 8 × S / B", 0.0042, "s", "a paper, section 2"),
        ),
        "warnings": (EstimateWarning("extrapolated", "beyond what was measured " * 10),),
        "engine_version": "1.2.3",
        "catalog_revision": "abc",
    }
    return estimate_page(Estimate(**(fields | changes)))


def test_lines_fit_and_carry_no_trailing_space() -> None:
    lines = page().splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert not [line for line in lines if line != line.rstrip()]


def test_values_are_humanised_with_si_beside() -> None:
    text = " ".join(page().split())
    assert "seconds = 4.2 ms (range 3.9 ms to 4.5 ms, calibrated)" in text
    assert "rate_bytes_per_second 480 GB/s = 4.8e+11 B/s" in text
    assert "bytes_on_wire_per_gpu 2 GB = 2e+09 B" in text
    assert "tokens_per_second 1234.5 tokens/s" in text
    assert "size_bytes 1.074 GB = 1073741824 B" in text
    assert "registered_buffers false" in text
    assert "= 4.2 ms (0.0042 s)" in text
    assert "90 of 100" in text


def test_what_is_not_there_leaves_no_trace() -> None:
    assert "model" not in page()
    assert "nothing" not in page()
    assert "Warnings" not in page(warnings=())
    assert "ring" not in page(result=Result(ways=()))


def test_an_inline_system_is_named_not_printed() -> None:
    system = {"id": "mine", "scale_up": {"domain_gpus": 8}}
    assert "mine (inline)" in page(inputs={"system": system})
    assert "domain_gpus" not in page(inputs={"system": system})
