"""Measure the CPU time of one estimate of each kind, against parsing and writing its own JSON answer.

    python -m benchmarks.estimates

Every question differs, so nothing is answered from a cache of answers. The baseline is what any service must do with
the same answer: `json.loads(json.dumps(...))`, timed in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Collective
from service.core.collectives.expert_exchange import Phase
from service.core.inference.weights import WeightDtype
from service.http.v1.estimate_kinds import KINDS
from service.planning.collective import estimate_collective
from service.planning.collective_question import CollectiveQuestion
from service.planning.expert_exchange import estimate_expert_exchange
from service.planning.expert_question import ExpertQuestion
from service.planning.inference import estimate_inference, inference_curve
from service.planning.inference_question import InferenceQuestion

ROUNDS = 300


def milliseconds(work: Callable[[int], Any]) -> float:
    """Return the median CPU time of one call, after a few to warm up."""
    for i in range(20):
        work(ROUNDS + i)
    times = []
    for i in range(ROUNDS):
        started = time.process_time_ns()
        work(i)
        times.append(time.process_time_ns() - started)
    return statistics.median(times) / 1e6


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    catalog = load_shipped_catalog()

    def serving(i: int, model: str = "llama3.3-70b") -> InferenceQuestion:
        return InferenceQuestion(
            model, "dgx-h200", gpus=8, engine="vllm", weight_dtype=WeightDtype.FP8, concurrency=i + 1,
            input_sequence_length=1000 + i,
        )  # fmt: skip

    arms: dict[str, tuple[str, Callable[[int], Any]]] = {
        "collective, one node": (
            "collective",
            lambda i: estimate_collective(
                CollectiveQuestion("dgx-h100", Collective.ALL_REDUCE, 8, size_bytes=1_000_000 + i), catalog
            ),
        ),
        "collective, 64 nodes": (
            "collective",
            lambda i: estimate_collective(
                CollectiveQuestion("dgx-h100", Collective.ALL_REDUCE, 512, size_bytes=1_000_000 + i), catalog
            ),
        ),
        "expert dispatch": (
            "collective",
            lambda i: estimate_expert_exchange(
                ExpertQuestion("dgx-h100", Phase.DISPATCH, 8, i + 1, 7168, 8, 256), catalog
            ),
        ),
        "inference, dense": ("inference", lambda i: estimate_inference(serving(i), catalog)),
        "inference, mixture of experts": (
            "inference",
            lambda i: estimate_inference(serving(i, "deepseek-r1"), catalog),
        ),
    }
    print("| estimate | CPU, ms | its answer to JSON and back, ms | ratio |\n|---|---:|---:|---:|")
    for name, (kind, work) in arms.items():
        document = KINDS[kind].document(work(0))
        own, baseline = milliseconds(work), milliseconds(lambda _, d=document: json.loads(json.dumps(d)))  # type: ignore[misc]
        print(f"| {name} | {own:.2f} | {baseline:.2f} | {own / baseline:.1f} |")
    print(
        f"\nthe throughput-latency curve: {milliseconds(lambda i: inference_curve(serving(i), catalog)):.1f} ms of CPU"
    )


if __name__ == "__main__":
    main()
