"""From a model's document to the core's own types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.core.transformer.architecture import (
    Activation,
    Bias,
    LatentAttention,
    MixtureOfExperts,
    Model,
    Norm,
    Position,
    QkNorm,
    TransformerArchitecture,
)
from service.errors import FieldProblem

# Keys of the document that are the architecture's own fields, as they are.
_PLAIN = (
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "vocab_size",
    "gated_mlp",
    "norms_per_layer",
    "final_norm",
    "embedding_norm",
    "rotary_ratio",
    "max_sequence_length",
    "sliding_window",
    "attention_chunk_size",
    "num_local_attention_layers",
    "attention_sinks",
    "parallel_block",
    "embedding_size",
    "tie_embeddings",
    "lm_head_bias",
    "num_mtp_layers",
)
_WORDS = {"activation": Activation, "norm": Norm, "qk_norm": QkNorm, "position": Position}


def model_from_document(document: Mapping[str, Any]) -> Model:
    """Build the model that a checked document describes."""
    d = document
    mla = LatentAttention(**{"q_lora_rank": 0, **d["mla"]}) if "mla" in d else None
    heads = d["num_attention_heads"]
    local = d.get("sliding_window") or d.get("attention_chunk_size")
    stated: dict[str, Any] = {key: d[key] for key in _PLAIN if key in d}
    stated |= {key: word(d[key]) for key, word in _WORDS.items() if key in d}
    if local:
        stated.setdefault("num_local_attention_layers", d["num_layers"])
    architecture = TransformerArchitecture(
        **stated,
        num_key_value_heads=d.get("num_key_value_heads", heads),
        head_dim=d.get("head_dim") or (mla.qk_head_dim if mla else d["hidden_size"] // heads),
        ffn_hidden_size=d.get("ffn_hidden_size"),
        position_rows=_position_rows(d),
        bias=Bias(**d.get("bias", {})),
        mla=mla,
        moe=MixtureOfExperts(**_without(d["moe"], "layer_pattern")) if "moe" in d else None,
    )
    return Model(d.get("id", "inline"), d.get("name", "inline model"), architecture, d.get("parameters_published"))


def model_problems(document: Mapping[str, Any], pointer: str = "") -> list[FieldProblem]:
    """Return what contradicts itself in a document that its schema accepts."""
    d = document
    heads, kv_heads = d["num_attention_heads"], d.get("num_key_value_heads", d["num_attention_heads"])
    moe = d.get("moe")
    problems = []

    def wrong(key: str, message: str, allowed: Any = None, suggestion: Any = None) -> None:
        value: Any = d
        for step in key.split("/"):
            value = value.get(step) if isinstance(value, Mapping) else None
        problems.append(FieldProblem(f"{pointer}/{key}", message, value, allowed, suggestion))

    if heads % kv_heads:
        divisors = [n for n in range(1, heads + 1) if heads % n == 0]
        wrong("num_key_value_heads", f"must divide the {heads} attention heads", divisors)
    if "head_dim" not in d and "mla" not in d and d["hidden_size"] % heads:
        wrong("head_dim", f"is required: {heads} heads do not divide hidden_size {d['hidden_size']}")
    if "mla" in d and d.get("head_dim", _qk(d)) != _qk(d):
        wrong("head_dim", "must be qk_nope_head_dim + qk_rope_head_dim", suggestion=_qk(d))
    num_dense = d["num_layers"] - (moe["num_moe_layers"] if moe else 0)
    if num_dense > 0 and "ffn_hidden_size" not in d:
        wrong("ffn_hidden_size", f"is required: {num_dense} layers have a dense MLP")
    if num_dense < 0:
        wrong("moe/num_moe_layers", "must be at most num_layers", {"min": 1, "max": d["num_layers"]}, d["num_layers"])
    if moe and moe["top_k"] > moe["num_experts"]:
        wrong("moe/top_k", "must be at most num_experts", {"min": 1, "max": moe["num_experts"]}, moe["num_experts"])
    if moe and moe.get("num_dense_first_layers", 0) > max(num_dense, 0):
        wrong("moe/num_dense_first_layers", f"must be at most the {max(num_dense, 0)} dense layers")
    if d.get("num_local_attention_layers", 0) > d["num_layers"]:
        wrong("num_local_attention_layers", "must be at most num_layers", {"min": 1, "max": d["num_layers"]})
    if d.get("position") == "learned" and _position_rows(d) == 0:
        wrong("position_rows", "is required for learned positions, as is max_sequence_length without it")
    return problems


def _position_rows(d: Mapping[str, Any]) -> int:
    if d.get("position") != Position.LEARNED:
        return 0
    return int(d.get("position_rows") or d.get("max_sequence_length") or 0)


def _qk(d: Mapping[str, Any]) -> int:
    return int(d["mla"]["qk_nope_head_dim"] + d["mla"]["qk_rope_head_dim"])


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}
