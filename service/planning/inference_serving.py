"""A replica under load: the steady state at a batch, the largest batch within limits, the curve of both."""

from __future__ import annotations

from dataclasses import dataclass, replace

from service.catalog.catalog import Catalog
from service.core.inference.batching import (
    SteadyState,
    StepLoad,
    Workload,
    closed_loop,
    decode_load,
)
from service.core.inference.step import Replica, StepParts, step_parts
from service.planning.inference_memory import Room, room_of
from service.planning.inference_question import InferenceQuestion, ServingScene
from service.planning.inference_replica import replica_of
from service.planning.inference_result import CurvePoint

REQUESTS_PER_CLIENT = 10  # of a closed-loop benchmark: InferenceX and vLLM's tool send ten for each client


@dataclass(frozen=True, slots=True)
class Serving:
    """A question on its replica."""

    question: InferenceQuestion
    scene: ServingScene
    replica: Replica
    room: Room
    workload: Workload

    def step_seconds(self, load: StepLoad) -> float:
        """Return the time of a step, drafting included."""
        seconds = step_parts(load, self.replica).seconds
        speculative = self.question.speculative
        if speculative is not None and load.sequences > 0:
            seconds *= 1 + speculative.draft_tokens * speculative.draft_cost_ratio
        return seconds

    def at(self, clients: float) -> SteadyState:
        """Return the steady state of a replica's clients; stages each work on their part of them in turn."""
        stages = self.scene.layout.pipeline_parallel_size
        most = max(1, self.room.most_in_flight)
        state = closed_loop(clients / stages, most / stages, self.workload, self.step_seconds)
        return state if stages == 1 else _all_stages(state, stages)

    def started_together(self, clients: float, state: SteadyState) -> SteadyState:
        """Return the state as a closed-loop benchmark meets it: all clients send their first request at once.

        The prompts of that burst are served one after another; its mean wait counts for one request of each client's.
        """
        w, inside = self.workload, min(clients, self.room.most_in_flight)
        packed = max(1.0, w.step_tokens / w.new_input_tokens)
        full = step_parts(StepLoad(prompt_tokens=packed * w.new_input_tokens, prompts=packed), self.replica).seconds
        burst = (inside - 1) / 2 * full / packed / REQUESTS_PER_CLIENT
        return replace(state, wait_seconds=state.wait_seconds + burst)

    def decode_parts(self, sequences: float) -> StepParts:
        """Return the parts of a step without prompts."""
        return step_parts(decode_load(sequences, self.workload), self.replica)

    def prefill_parts(self) -> StepParts:
        """Return the parts of a prompt's prefill, alone and in one step."""
        w = self.workload
        past = w.input_tokens - w.new_input_tokens
        return step_parts(StepLoad(prompt_tokens=w.new_input_tokens, prompts=1, prompt_past_tokens=past), self.replica)

    def meets(self, state: SteadyState) -> bool:
        """Return whether the mean latencies are within the limits that were asked for."""
        ttft, tpot = self.question.ttft_slo_seconds, self.question.tpot_slo_seconds
        return (ttft is None or state.ttft_seconds <= ttft) and (tpot is None or state.tpot_seconds <= tpot)

    def largest_within_limits(self) -> int:
        """Return the largest batch whose latencies are within the limits; 0 if not even one request's are."""
        low, high = 0, self.room.most_in_flight
        if self.meets(self.at(high)):
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.meets(self.at(middle)) else (low, middle)
        return low

    def curve(self) -> tuple[CurvePoint, ...]:
        """Return latency and throughput from one request at a time to all that fit."""
        if not self.room.fits:
            return ()
        gpus, points = self.scene.layout.gpus, []
        for batch in _batches(self.room.most_in_flight):
            state = self.at(batch)
            rate = state.requests_per_second * self.question.output_sequence_length
            points.append((batch, state, rate))
        best = 0.0
        curve = []
        for batch, state, rate in points:
            tpot = state.tpot_seconds
            per_user = 1 / tpot if tpot > 0 else 0.0
            curve.append(
                CurvePoint(
                    batch, state.ttft_seconds, tpot, rate * self.scene.replicas, rate / gpus, per_user, rate > best
                )
            )
            best = max(best, rate)
        return tuple(curve)


def serving_of(question: InferenceQuestion, scene: ServingScene, catalog: Catalog) -> Serving:
    """Return a question's replica, ready to be loaded."""
    replica = replica_of(question, scene, catalog)
    room = room_of(question, scene, replica.engine)
    speculative = question.speculative
    workload = Workload(
        input_tokens=question.input_sequence_length,
        output_tokens=question.output_sequence_length,
        cached_ratio=question.prefix_cache_hit_ratio,
        step_tokens=room.step_tokens * scene.layout.attention_data_parallel_size,
        tokens_per_step=speculative.yielded_tokens if speculative else 1.0,
        verified_tokens=1.0 + speculative.draft_tokens if speculative else 1.0,
        request_seconds=replica.engine.request_seconds,
    )
    return Serving(question, scene, replica, room, workload)


def _batches(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, … and the most."""
    found, power = [], 1
    while power <= most:
        found += [power] if power == 1 else [power, *([power * 3 // 2] if power * 3 // 2 <= most else [])]
        power *= 2
    return found if found[-1] == most else [*found, most]


def _all_stages(state: SteadyState, stages: int) -> SteadyState:
    """Return the sum over the stages, each of which has its part of the clients in hand at any time."""
    return replace(
        state,
        in_flight=state.in_flight * stages,
        sequences=state.sequences * stages,
        requests_per_second=state.requests_per_second * stages,
    )
