"""What differs between serving engines: their own time, their memory, and what they let in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineConstants:
    """One engine's constants; fitted times, documented limits.

    Parameters
    ----------
    layer_seconds : float
        Of each layer and step: launches, norms, position, quantisation, and the gaps between kernels. [s]
    host_seconds : float
        Of each step: scheduling, sampling and handing over, as far as the GPU waits for it. [s]
    sequence_seconds : float
        The same, for each running sequence. [s]
    request_seconds : float
        Of each request before its first step: tokens, admission, transport. [s]
    matrix_ratio : float
        Time of matrices in a long run over that of the kernel alone: clocks under load, cold caches. [-]
    attention_ratio : float
        The same for attention. [-]
    expert_ratio : float
        The same for grouped experts: what uneven routing adds. [-]
    memory_ratio : float
        Share of the memory that the engine takes. [-]
    runtime_bytes : float
        Of that, context, graphs and communication buffers. [B]
    reserved_output_ratio : float
        Share of a request's output that it must have room for to be let in: 1 where none is ever put out again. [-]
    most_sequences : int
        Default limit of sequences at once. [-]
    step_tokens : int
        Default limit of tokens in a step. [tokens]
    """

    layer_seconds: float
    host_seconds: float
    sequence_seconds: float
    request_seconds: float
    matrix_ratio: float
    attention_ratio: float
    expert_ratio: float
    memory_ratio: float
    runtime_bytes: float
    reserved_output_ratio: float
    most_sequences: int
    step_tokens: int
