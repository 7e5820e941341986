"""Continuous batching in its steady state: every step one token for each running sequence, prompts mixed in.

A request takes one step for each output token. Its prompt comes in chunks that ride along in some of the steps and make
these longer. With B sequences running, B / O of them end in a step, and as many prompts must come in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_ROUNDS = 6  # of the fixed point between decoding sequences and the time to a first token; two or three are enough
_SETTLED_RATIO = 0.002
_BUSIEST_RATIO = 0.98  # a closed loop never fills its server: above it the clients' number bounds the wait


@dataclass(frozen=True, slots=True)
class StepLoad:
    """What one step has to do, over all attention copies of a replica's stage.

    Parameters
    ----------
    sequences : float
        Running sequences that get a token each.
    context_tokens : float
        Tokens that each looks back on.
    prompt_tokens : float
        Tokens of prompts in the step.
    prompts : float
        Prompts that these belong to.
    prompt_past_tokens : float
        Tokens of each of these prompts that are in the cache already.
    tokens_per_sequence : float
        Tokens of each running sequence that go through the matrices: above 1 where drafted ones are verified.
    """

    sequences: float = 0.0
    context_tokens: float = 0.0
    prompt_tokens: float = 0.0
    prompts: float = 0.0
    prompt_past_tokens: float = 0.0
    tokens_per_sequence: float = 1.0


StepTimer = Callable[[StepLoad], float]


@dataclass(frozen=True, slots=True)
class Workload:
    """What the requests are, and how they are let in.

    Parameters
    ----------
    input_tokens, output_tokens : float
        I and O, means. [tokens]
    cached_ratio : float
        Share of the input whose keys and values are in the cache already. [-]
    step_tokens : float
        Most tokens of one step: the chunk of a long prompt is what the running sequences leave of it. [tokens]
    tokens_per_step : float
        Tokens that a sequence gets in one step: above 1 when drafted ones are accepted. [tokens]
    verified_tokens : float
        Tokens of a sequence that one step computes: 1, and the drafted ones. [tokens]
    request_seconds : float
        What each request takes outside of the steps. [s]
    """

    input_tokens: float
    output_tokens: float
    cached_ratio: float = 0.0
    step_tokens: float = math.inf
    tokens_per_step: float = 1.0
    verified_tokens: float = 1.0
    request_seconds: float = 0.0

    @property
    def new_input_tokens(self) -> float:
        """Input that must be computed. At least one token: the last one's logits are needed. [tokens]"""
        return max(1.0, self.input_tokens * (1 - self.cached_ratio))

    @property
    def mean_context_tokens(self) -> float:
        """Tokens that a running sequence looks back on, over its life. [tokens]"""
        return self.input_tokens + self.output_tokens / 2

    @property
    def decode_steps(self) -> float:
        """Steps after the one that gives the first token."""
        return max(0.0, self.output_tokens - 1) / self.tokens_per_step


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What a steady load gets from one replica.

    Parameters
    ----------
    in_flight : float
        Requests in the engine at once, decoding or being prefilled. [-]
    sequences : float
        B, of these the ones that decode. [-]
    decode_step_seconds, mixed_step_seconds : float
        d and x, a step without and with prompt tokens. [s]
    mixed_ratio : float
        f, share of the steps that carry prompt tokens. [-]
    chunks : int
        Steps that one prompt takes part in. [-]
    packed_prompts : float
        q, prompts that share such a step. [-]
    step_seconds : float
        The mean step, as one request meets it. [s]
    tpot_seconds : float
        Mean time between a user's tokens after the first. [s]
    prefill_seconds : float
        From the first step of a prompt to its first token. [s]
    wait_seconds : float
        Mean wait of a new request for the step under way and for earlier prompts. [s]
    queue_seconds : float
        Mean wait for a place in the batch, where there are more clients than places. [s]
    requests_per_second : float
        Of the replica.
    """

    in_flight: float
    sequences: float
    decode_step_seconds: float
    mixed_step_seconds: float
    mixed_ratio: float
    chunks: int
    packed_prompts: float
    step_seconds: float
    tpot_seconds: float
    prefill_seconds: float
    wait_seconds: float
    queue_seconds: float
    requests_per_second: float

    @property
    def ttft_seconds(self) -> float:
        """Time to the first token, waits included. [s]"""
        return self.queue_seconds + self.wait_seconds + self.prefill_seconds


def closed_loop(concurrency: float, most_in_flight: float, workload: Workload, step_seconds: StepTimer) -> SteadyState:
    r"""Return the steady state of a number of clients that each send the next request when the last is answered.

    .. math:: \tau = (1 - f)\, d + f\, x, \quad f = \frac{B\, c}{n_d\, q}, \quad
        X = \frac{C}{T_{first} + n_d \tau}, \quad B = X\, n_d \tau

    with d and x a step without and with prompt tokens, n_d decode steps of a request, c chunks of a prompt and q
    prompts that share a step.

    Parameters
    ----------
    concurrency : float
        C, clients of the replica; those past `most_in_flight` queue. [-]
    most_in_flight : float
        Requests that memory and engine hold at once. [-]
    workload : Workload
        The requests. [-]
    step_seconds : StepTimer
        The time of a step. [s]

    Assumptions
    -----------
    Requests end evenly in time, and prompts are taken in order. A client's own prompt does not slow its own tokens.

    Source
    ------
    Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI24, section 4: chunks
    ride along with decodes. Little, "A Proof for the Queuing Formula L = lambda W", 1961.
    """
    w, inside = workload, min(concurrency, most_in_flight)
    others = 1 - 1 / max(inside, 1.0)
    decode_steps, sequences = w.decode_steps, inside
    for _ in range(_ROUNDS):
        room = max(1.0, w.step_tokens - sequences)
        prompts_a_step = sequences / max(1.0, decode_steps)  # that end, and as many come in
        chunks = max(1, math.ceil(w.new_input_tokens / room))
        most_packed = max(1.0, room / w.new_input_tokens)
        packed = min(max(1.0, prompts_a_step), most_packed)
        decode = step_seconds(decode_load(sequences, w)) if decode_steps else 0.0
        mixed = step_seconds(
            StepLoad(
                sequences=sequences * others if decode_steps else 0.0,
                context_tokens=w.mean_context_tokens,
                prompt_tokens=packed * w.new_input_tokens / chunks,
                prompts=packed,
                prompt_past_tokens=w.input_tokens - w.new_input_tokens * (chunks + 1) / (2 * chunks),
                tokens_per_sequence=w.verified_tokens,
            )
        )
        share = min(1.0, others * prompts_a_step * chunks / packed)
        mean = (1 - share) * decode + share * max(decode, mixed)
        first = chunks * mixed
        wait = w.request_seconds + others * _wait(decode, mixed, share, first, mean, most_packed / chunks, inside)
        cycle = wait + first + decode_steps * mean
        wanted = inside * decode_steps * mean / cycle
        settled = abs(wanted - sequences) <= _SETTLED_RATIO * inside
        sequences = max(wanted, min(inside, 1.0)) if decode_steps else inside
        if settled:
            break
    rate = inside / cycle if decode_steps else packed / first
    return SteadyState(
        in_flight=inside,
        sequences=sequences,
        decode_step_seconds=decode,
        mixed_step_seconds=mixed,
        mixed_ratio=share,
        chunks=chunks,
        packed_prompts=packed,
        step_seconds=mean,
        tpot_seconds=mean / w.tokens_per_step,
        prefill_seconds=first,
        wait_seconds=wait,
        queue_seconds=max(0.0, (concurrency - inside) / rate),
        requests_per_second=rate,
    )


def decode_load(sequences: float, workload: Workload) -> StepLoad:
    """Return a step without prompts.

    Parameters
    ----------
    sequences : float
        Running sequences. [-]
    workload : Workload
        How far they look back, and what of them is verified at once. [tokens]

    Source
    ------
    Definition.
    """
    return StepLoad(sequences, workload.mean_context_tokens, tokens_per_sequence=workload.verified_tokens)


def _wait(decode: float, mixed: float, share: float, first: float, mean: float, at_once: float, inside: float) -> float:
    """Mean wait of a random arrival: the rest of the step under way, and the prompts before it that do not fit in.

    Pollaczek's wait of a fixed service, with the load that is left when `at_once` prompts are served together.
    """
    if mean <= 0:
        return 0.0
    working = share * mixed / mean
    rest = (1 - working) * decode / 2 + working * first / 2
    busy = min(_BUSIEST_RATIO, working / max(1.0, at_once))
    queued = busy**2 / (1 - busy) * first / 2
    return rest + min(queued, inside / 2 * first / max(1.0, at_once))
