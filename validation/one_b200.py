"""Writes docs/one-b200.md: what one B200 gives a 70B model, beside what was measured.

python -m validation.one_b200
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from service.catalog.catalog import Catalog, load_shipped_catalog
from service.catalog.serving_measurements import serving_points
from service.core.inference.weights import WeightDtype
from service.planning.inference import estimate_inference
from service.planning.inference_question import InferenceQuestion

PAGE = Path(__file__).parents[1] / "docs" / "one-b200.md"
FORMATS = (WeightDtype.BF16, WeightDtype.FP8, WeightDtype.NVFP4)
LENGTHS = ((128, 128), (1000, 1000), (8192, 1024))
BATCHES = (1, 64, None)

_HEADING = """# How many tokens per second can one B200 decode for a 70B model?

Written by `python -m validation.one_b200`; a test writes it again and compares. Llama 3.3 70B, TensorRT-LLM, one GPU.
It depends on what is asked: about 70 for one stream, thousands for many at chat lengths, more than 10,000 only for
short prompts and outputs in four bits. *Measured* is the newest published TensorRT-LLM figure at the most
(`validation/inference.csv`).

| weights | input/output | requests at once | tokens/s | range | per user | TTFT | roofline | measured |
|---|---|---:|---:|---|---:|---:|---:|---:|"""


def page(catalog: Catalog) -> str:
    """Return docs/one-b200.md."""
    return "\n".join([_HEADING, *_rows(catalog)]) + "\n"


def _rows(catalog: Catalog) -> Iterator[str]:
    for dtype in FORMATS:
        for tokens_in, tokens_out in LENGTHS:
            for batch in BATCHES:
                answer = estimate_inference(
                    InferenceQuestion(
                        "llama3.3-70b", "dgx-b200", gpus=1, engine="trtllm", weight_dtype=dtype, batch_size=batch,
                        input_sequence_length=tokens_in, output_sequence_length=tokens_out,
                    ),
                    catalog,
                )  # fmt: skip
                result, bounds = answer.result, answer.range
                most = f"{result.batch_size} (the most)" if batch is None else f"{result.batch_size}"
                measured = _measured(dtype, tokens_in, tokens_out) if batch is None else None
                yield (
                    f"| {dtype} | {tokens_in}/{tokens_out} | {most} | {result.output_tokens_per_second:,.0f} "
                    f"| {bounds.low:,.0f} to {bounds.high:,.0f} | {result.output_tokens_per_second_per_user or 0:.0f} "
                    f"| {(result.ttft_seconds or 0) * 1000:.0f} ms | {answer.ideal.output_tokens_per_second:,.0f} "
                    f"| {f'{measured:,.0f}' if measured else '-'} |"
                )


def _measured(dtype: WeightDtype, tokens_in: int, tokens_out: int) -> float | None:
    found = [
        p.output_tokens_per_second
        for p in serving_points()
        if (p.kind, p.system, p.gpus, p.weight_dtype) == ("max_throughput", "dgx-b200", 1, dtype)
        and p.model in ("llama3.3-70b", "llama3.1-70b")
        and (p.input_tokens, p.output_tokens) == (tokens_in, tokens_out)
    ]
    return found[-1] if found else None


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    PAGE.write_text(page(load_shipped_catalog()), encoding="utf-8")


if __name__ == "__main__":
    main()
