"""The working of an inference estimate, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from service.core.inference.batching import SteadyState
from service.core.inference.roofline import RooflineLoad
from service.core.transformer.kv_cache import kv_bytes_per_token
from service.core.transformer.parameters import total_parameters
from service.planning.estimates import DerivationLine
from service.planning.inference_memory import Room
from service.planning.inference_question import InferenceQuestion, ServingScene
from service.planning.inference_result import InferenceIdeal
from service.planning.inference_serving import Serving

_DATASHEET = "hardware_catalog/accelerators"
_KERNELS = "hardware_catalog/calibrations/kernels-*.yaml"


def memory_lines(question: InferenceQuestion, scene: ServingScene, room: Room) -> Iterator[DerivationLine]:
    """Yield what of one GPU's memory the weights take and what is left for the cache."""
    a, memory = scene.model.architecture, room.memory
    yield DerivationLine(
        "N", f"parameters of {scene.model.id}", "sum over the architecture", total_parameters(a), "1", "model_catalog"
    )
    yield DerivationLine(
        "W", f"weights in {question.weight_dtype} on the fullest GPU",
        f"bytes of N over {scene.layout.tensor_parallel_size} × {scene.layout.pipeline_parallel_size} GPUs",
        memory.weights_bytes, "B", "definition",
    )  # fmt: skip
    yield DerivationLine(
        "M", "memory that the engine lets itself take", "share of the device's memory", memory.usable_bytes,
        "B", "hardware_catalog/calibrations/inference-engines.yaml",
    )  # fmt: skip
    yield DerivationLine(
        "K", "left for keys and values", "M − W − runtime − activations", memory.kv_bytes, "B", "definition"
    )
    yield DerivationLine(
        "b", f"cache of one token in {scene.kv_dtype}, all layers", "2 × layers × kv heads × head size, or latent",
        kv_bytes_per_token(a, scene.kv_dtype.size_bytes), "B", "definition",
    )  # fmt: skip
    yield DerivationLine(
        "B_max", "requests that one replica holds at once", "K over the cache of a request", room.most_in_flight, "1",
        "Kwon et al., SOSP23",
    )  # fmt: skip


def no_room_lines(room: Room) -> Iterator[DerivationLine]:
    """Yield what is missing."""
    yield DerivationLine(
        "short", "what one GPU lacks for the weights and one request", "−K + cache of one request",
        room.shortfall_bytes, "B", "definition",
    )  # fmt: skip


def roofline_lines(scene: ServingScene, ideal: InferenceIdeal, load: RooflineLoad) -> Iterator[DerivationLine]:
    """Yield the bound of one decode step at the batch that was asked for."""
    bandwidth = scene.system.accelerator.memory_bandwidth_bytes_per_second
    yield DerivationLine("B_HBM", "memory bandwidth of one GPU", "datasheet", bandwidth, "B/s", _DATASHEET)
    yield DerivationLine(
        "R", "weights and cache that the fullest GPU reads in a step", "W without embedding + cache of its sequences",
        load.weight_bytes + load.kv_bytes, "B", "Pope et al., arXiv:2211.05102, section 3",
    )  # fmt: skip
    yield DerivationLine(
        "t_mem", "reading them", "R / B_HBM", load.seconds_of_memory, "s", "Williams et al., CACM 2009"
    )
    yield DerivationLine(
        "t_flop", "computing at the dense peaks", "2 × active N × batch / peak + attention", load.seconds_of_compute,
        "s", "Williams et al., CACM 2009",
    )  # fmt: skip
    yield DerivationLine(
        "t_ideal", f"the roofline of a step of {ideal.batch_size} sequences", "max(t_mem, t_flop)", load.seconds, "s",
        "Williams et al., CACM 2009",
    )  # fmt: skip
    yield DerivationLine(
        "single", "tokens/s of one stream at the roofline", "1 / t_ideal of one sequence",
        ideal.single_stream_tokens_per_second, "tokens/s", "Williams et al., CACM 2009",
    )  # fmt: skip


def serving_lines(
    question: InferenceQuestion, scene: ServingScene, serving: Serving, state: SteadyState, tokens: float, source: str
) -> Iterator[DerivationLine]:
    """Yield a decode step's parts, what prompts do to it, and the rates that follow."""
    parts = serving.decode_parts(state.sequences)
    yield DerivationLine(
        "B", "sequences that decode at once, on average", "steady state of the clients", state.sequences, "1", source
    )
    for symbol, label, value, where in (
        ("t_matrices", "multiplications by dense weights", parts.matrices + parts.output_head, _KERNELS),
        ("t_experts", "multiplications by routed experts", parts.experts, _KERNELS),
        ("t_attention", "reading the cache", parts.decode_attention, _KERNELS),
        ("t_network", "all-reduces, or the experts' exchange", parts.communication, "custom-all-reduce.yaml"),
        (
            "t_layers",
            "launches and gaps, norms and activations of the layers",
            parts.layers + parts.element_wise,
            source,
        ),
        ("t_host", "scheduling and sampling", parts.host, source),
    ):
        if value > 0:
            yield DerivationLine(symbol, label, "kernel by kernel", value, "s", where)
    yield DerivationLine("d", "a step without prompts", "sum of the parts", state.decode_step_seconds, "s", source)
    yield DerivationLine(
        "x", "a step that carries part of a prompt", "the same with its tokens", state.mixed_step_seconds, "s", source
    )
    yield DerivationLine(
        "f", "share of the steps that do", "prompts that come in over steps", state.mixed_ratio, "1", "steady state"
    )
    yield DerivationLine(
        "TPOT",
        "time between a user's tokens",
        "(1 − f) d + f x, over tokens a step",
        state.tpot_seconds,
        "s",
        "definition",
    )
    yield DerivationLine(
        "TTFT", "time to the first token", "queue + wait for the step under way + chunks × x", state.ttft_seconds, "s",
        "definition",
    )  # fmt: skip
    yield DerivationLine(
        "X", "requests of one replica", "clients / (TTFT + decode steps × TPOT)", state.requests_per_second,
        "1/s", "Little's law",
    )  # fmt: skip
    yield DerivationLine(
        "tokens", f"output of {scene.replicas} replicas", f"X × {question.output_sequence_length} × {scene.replicas}",
        tokens, "tokens/s", "definition",
    )  # fmt: skip
