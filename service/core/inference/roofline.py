"""The bound that no engine passes: bytes over the datasheet's bandwidth, operations over the dense peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.core.hardware import Accelerator
from service.core.inference.layout import ServingLayout
from service.core.inference.weights import WeightDtype, quantised_terms, weight_bytes
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.kv_cache import cached_token_layers, kv_elements_per_layer
from service.core.transformer.matrices import distinct_experts
from service.core.transformer.parameters import expert_parameters, parameter_terms

_NOT_MULTIPLIED = frozenset({"word_embedding", "position_embedding", "output_head_bias"})


@dataclass(frozen=True, slots=True)
class RooflineLoad:
    """What a step moves and computes on the GPUs of one stage, all layers of the model.

    Parameters
    ----------
    weight_bytes, kv_bytes : float
        Read by the GPU that reads most. [B]
    seconds_of_compute : float
        Operations over the dense peaks. [s]
    seconds_of_memory : float
        Bytes over the datasheet's rate. [s]
    """

    weight_bytes: float
    kv_bytes: float
    seconds_of_compute: float
    seconds_of_memory: float

    @property
    def seconds(self) -> float:
        """The slower of the two. [s]"""
        return max(self.seconds_of_compute, self.seconds_of_memory)


def streamed_weight_bytes(
    architecture: TransformerArchitecture,
    dtype: WeightDtype,
    layout: ServingLayout,
    tokens: float,
    group_size: int | None = None,
) -> float:
    r"""Return the weights that one GPU reads in a step of some tokens.

    .. math:: W = \frac{W_{dense}}{t} + \frac{W_{experts}}{t a} \frac{E_{hit}(n)}{E}

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    dtype : WeightDtype
        As served. [-]
    layout : ServingLayout
        t and a; stages follow one another, so a token's step passes all of them. [-]
    tokens : float
        n, tokens of the step over all attention copies. [tokens]
    group_size : int or None
        See ``bytes_per_weight``. [-]

    Assumptions
    -----------
    The embedding is looked up, not streamed; a tied one is read as the output head.

    Source
    ------
    Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, section 3.
    """
    a = architecture
    terms = weight_bytes(a, dtype, group_size)
    looked_up = 0.0 if a.tie_embeddings else terms["word_embedding"]
    dense = sum(terms.values()) - terms["routed_experts"] - looked_up - terms["position_embedding"]
    share = distinct_experts(a.moe.num_experts, a.moe.top_k, tokens) / a.moe.num_experts if a.moe else 0.0
    return dense / layout.tensor_parallel_size + terms["routed_experts"] * share / layout.stage_gpus


def matrix_seconds_per_token(
    architecture: TransformerArchitecture, dtype: WeightDtype, peaks: Mapping[str, float]
) -> float:
    r"""Return the time that one token's matrices take at the dense peaks of one GPU.

    .. math:: c = \sum_i \frac{2 N_i}{F_i}

    Parameters
    ----------
    architecture : TransformerArchitecture
        N_i parameters that a token multiplies with, by term; embeddings are looked up. [-]
    dtype : WeightDtype
        Format of the quantised terms; the rest multiplies in bf16. [-]
    peaks : Mapping[str, float]
        F_i by format. [FLOP/s]

    Source
    ------
    Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361, section 2.1: two operations a parameter.
    """
    a, terms = architecture, dict(parameter_terms(architecture))
    if a.moe is not None:
        terms["routed_experts"] = a.moe.num_moe_layers * a.moe.top_k * expert_parameters(a)
    if a.tie_embeddings:
        terms["output_head"] = terms["word_embedding"]
    half = peaks.get("bf16") or peaks.get("fp16") or max(peaks.values())
    low = peaks.get(dtype.compute_format) or peaks.get("fp8") or half  # unpacked to what there is
    quantised = quantised_terms(a, dtype)
    return sum(
        2 * count / (low if term in quantised else half) for term, count in terms.items() if term not in _NOT_MULTIPLIED
    )


def attention_seconds_per_context_token(architecture: TransformerArchitecture, peaks: Mapping[str, float]) -> float:
    r"""Return the time one query takes for one earlier token in one layer, at the fastest peak it could run at.

    .. math:: c_{attn} = \frac{4 n_h d}{F}

    Parameters
    ----------
    architecture : TransformerArchitecture
        n_h heads of d. [-]
    peaks : Mapping[str, float]
        By format; fp8 where there is one, else 16 bits. [FLOP/s]

    Source
    ------
    Definition: a product with the key, and one with the value, two operations an element.
    """
    a = architecture
    peak = peaks.get("fp8") or peaks.get("bf16") or peaks.get("fp16") or max(peaks.values())
    return 4 * a.num_attention_heads * a.head_dim / peak


def step_roofline(
    architecture: TransformerArchitecture,
    accelerator: Accelerator,
    layout: ServingLayout,
    dtype: WeightDtype,
    kv_element_bytes: float,
    *,
    sequences: float,
    context_tokens: float,
    prompt_tokens: float = 0.0,
    prompt_context_tokens: float = 0.0,
    group_size: int | None = None,
) -> RooflineLoad:
    r"""Return the bound of one step: one token for each of some sequences, and perhaps part of a prompt.

    .. math:: t = \max\left(\frac{W + s\, b(c)}{B_{HBM}}, \frac{(s + n) c_{mat}}{t a} + \ldots\right)

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    accelerator : Accelerator
        B_HBM and the dense peaks. [-]
    layout : ServingLayout
        How the replica is cut. [-]
    dtype : WeightDtype
        As served. [-]
    kv_element_bytes : float
        Of the cache. [B]
    sequences : float
        s, sequences that decode, over all attention copies. [-]
    context_tokens : float
        c, tokens that each looks back on. [tokens]
    prompt_tokens, prompt_context_tokens : float
        n tokens of prompts in the step, and how many tokens each looks back on, on average. [tokens]
    group_size : int or None
        See ``bytes_per_weight``. [-]

    Source
    ------
    Williams, Waterman, Patterson, "Roofline", CACM 2009; Pope et al., arXiv:2211.05102, section 3.
    """
    a, peaks = architecture, accelerator.peak_flops_per_second
    tokens = sequences + prompt_tokens
    weights = streamed_weight_bytes(a, dtype, layout, tokens, group_size)
    elements = kv_elements_per_layer(a, layout.tensor_parallel_size)
    looked_at = cached_token_layers(a, context_tokens)
    mine = sequences / layout.attention_data_parallel_size
    kv = mine * looked_at * elements * kv_element_bytes
    attended = sequences * looked_at + prompt_tokens * cached_token_layers(a, prompt_context_tokens)
    matrices = tokens * matrix_seconds_per_token(a, dtype, peaks)
    compute = matrices + attended * attention_seconds_per_context_token(a, peaks)
    return RooflineLoad(
        weight_bytes=weights,
        kv_bytes=kv,
        seconds_of_compute=compute / layout.stage_gpus,
        seconds_of_memory=(weights + kv) / accelerator.memory_bandwidth_bytes_per_second,
    )
