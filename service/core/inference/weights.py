"""Weights as they are served: how many bytes a parameter takes, and which stay in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from service.core.inference.layout import ServingLayout
from service.core.transformer.architecture import TransformerArchitecture
from service.core.transformer.parameters import parameter_terms


class WeightDtype(StrEnum):
    """Number format of the quantised matrices."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def compute_format(self) -> str:
        """The format that the matrices are multiplied in, as the accelerators' peaks are named."""
        return _COMPUTE_FORMAT[self]


class KvDtype(StrEnum):
    """Number format of cached keys and values."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def size_bytes(self) -> int:
        """Bytes of one element. [B]"""
        return 1 if self in (KvDtype.FP8, KvDtype.INT8) else 2


# int4 checkpoints multiply in 16 bits; int8 ones (W8A8) in int8.
_COMPUTE_FORMAT = {
    WeightDtype.BF16: "bf16",
    WeightDtype.FP16: "fp16",
    WeightDtype.FP8: "fp8",
    WeightDtype.NVFP4: "fp4",
    WeightDtype.MXFP4: "fp4",
    WeightDtype.INT8: "int8",
    WeightDtype.INT4: "bf16",
}
_HALF_BYTES = 2.0
_NVFP4_GROUP, _MXFP4_GROUP, _INT4_GROUP = 16, 32, 128
_INT4_SCALE_BYTES = 2.5  # an fp16 scale and a 4-bit zero point
_FP8_BLOCK_SCALE_BYTES = 4.0  # one fp32 for each block

_ATTENTION = frozenset({"attention"})
_DENSE = frozenset({"dense_mlp", "shared_experts"})
_EXPERTS = frozenset({"routed_experts"})


def bytes_per_weight(dtype: WeightDtype, group_size: int | None = None) -> float:
    r"""Return the bytes of one quantised parameter, its share of the scales included.

    .. math:: w_b = b/8 + s/g

    Parameters
    ----------
    dtype : WeightDtype
        b bits: 16, 8 or 4. [-]
    group_size : int or None
        g, parameters that share a scale of s bytes. None: 16 for nvfp4, 32 for mxfp4, 128 for int4; one scale a
        tensor or channel, which is nothing, for fp8 and int8. fp8 blocks are g x g. [-]

    Source
    ------
    NVFP4: NVIDIA, "Introducing NVFP4", one e4m3 scale for 16; MXFP4: OCP Microscaling Formats v1.0, one e8m0 for 32;
    int4: Lin et al., "AWQ", arXiv:2306.00978 (groups of 128); fp8 blocks: DeepSeek-AI, arXiv:2412.19437, section 3.3.
    """
    match dtype:
        case WeightDtype.BF16 | WeightDtype.FP16:
            return _HALF_BYTES
        case WeightDtype.FP8:
            return 1 + (_FP8_BLOCK_SCALE_BYTES / group_size**2 if group_size else 0)
        case WeightDtype.INT8:
            return 1 + (_HALF_BYTES / group_size if group_size else 0)
        case WeightDtype.NVFP4:
            return 0.5 + 1 / (group_size or _NVFP4_GROUP)
        case WeightDtype.MXFP4:
            return 0.5 + 1 / (group_size or _MXFP4_GROUP)
        case WeightDtype.INT4:
            return 0.5 + _INT4_SCALE_BYTES / (group_size or _INT4_GROUP)


def quantised_terms(architecture: TransformerArchitecture, dtype: WeightDtype) -> frozenset[str]:
    """Return the terms of ``parameter_terms`` that are stored in the format; the rest stays in 16 bits.

    Parameters
    ----------
    architecture : TransformerArchitecture
        A model with experts keeps attention in 16 bits under mxfp4, and latent attention under nvfp4 too. [-]
    dtype : WeightDtype
        The format. [-]

    Source
    ------
    The published checkpoints: openai/gpt-oss-120b (experts only), nvidia/DeepSeek-R1-FP4 (MLPs only), nvidia/
    Llama-3.3-70B-Instruct-FP4 and -FP8 (all linear layers of the blocks; embedding, head, norms and router are not).
    """
    if dtype is WeightDtype.MXFP4 and architecture.moe is not None:
        return _EXPERTS
    if dtype is WeightDtype.NVFP4 and architecture.mla is not None:
        return _DENSE | _EXPERTS
    return _ATTENTION | _DENSE | _EXPERTS


def weight_bytes(
    architecture: TransformerArchitecture, dtype: WeightDtype, group_size: int | None = None
) -> Mapping[str, float]:
    r"""Return the bytes of the whole model by term of ``parameter_terms``.

    .. math:: W = \sum_{quantised} N_i w_b + \sum_{others} 2 N_i

    Parameters
    ----------
    architecture : TransformerArchitecture
        N_i parameters by term. [-]
    dtype : WeightDtype
        Format of the quantised terms. [-]
    group_size : int or None
        See ``bytes_per_weight``. [-]

    Source
    ------
    Definition.
    """
    quantised, each = quantised_terms(architecture, dtype), bytes_per_weight(dtype, group_size)
    return {
        term: count * (each if term in quantised else _HALF_BYTES)
        for term, count in parameter_terms(architecture).items()
    }


def weight_bytes_per_gpu(
    architecture: TransformerArchitecture, dtype: WeightDtype, layout: ServingLayout, group_size: int | None = None
) -> float:
    r"""Return the bytes that the fullest GPU of a replica holds.

    .. math:: W_{gpu} = \frac{1}{p}\left(\frac{W_{experts}}{t a} + \frac{W_{others}}{t}\right)

    Parameters
    ----------
    architecture : TransformerArchitecture
        The shape. [-]
    dtype : WeightDtype
        Format of the quantised terms. [-]
    layout : ServingLayout
        t, a and p. [-]
    group_size : int or None
        See ``bytes_per_weight``. [-]

    Assumptions
    -----------
    Router and norms are on every GPU, like the key and value projections past the key-value heads; stages are equal.

    Source
    ------
    Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3: columns and rows of each matrix; experts are dealt.
    """
    a, t = architecture, layout.tensor_parallel_size
    terms = weight_bytes(a, dtype, group_size)
    experts = terms["routed_experts"]
    everywhere = terms["router"] + terms["layer_norms"] + terms["final_norm"]
    others = sum(terms.values()) - experts - everywhere
    copied = 0.0
    if a.mla is None and t > a.num_key_value_heads:
        each = bytes_per_weight(dtype, group_size) if "attention" in quantised_terms(a, dtype) else _HALF_BYTES
        key_values = 2 * a.num_layers * a.hidden_size * a.num_key_value_heads * a.head_dim * each
        copied = key_values * (1 / a.num_key_value_heads - 1 / t)
    return (experts / layout.stage_gpus + others / t + copied + everywhere) / layout.pipeline_parallel_size
