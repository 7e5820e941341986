"""A model's document: what is left out, what contradicts itself."""

import pytest

from service.catalog.documents import EntryKind, load_document
from service.catalog.entries import entry_problems
from service.catalog.models import model_from_document
from service.core.transformer.architecture import Norm, Position, QkNorm
from tests.unit.catalog.documents_of import MODEL, MOE

MLA = {"kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8}


def test_what_is_left_out_has_the_usual_value():
    shape = model_from_document(MODEL).architecture
    assert (shape.num_key_value_heads, shape.head_dim) == (4, 16)
    assert (shape.norm, shape.position, shape.qk_norm) == (Norm.RMSNORM, Position.ROPE, QkNorm.NONE)
    assert shape.gated_mlp
    assert not shape.tie_embeddings


def test_what_is_stated_stays():
    shape = model_from_document({**MODEL, "head_dim": 32, "norm": "layernorm", "bias": {"qkv": True}}).architecture
    assert (shape.head_dim, shape.norm, shape.bias.qkv, shape.bias.mlp) == (32, Norm.LAYERNORM, True, False)


def test_learned_positions_have_a_row_a_token():
    learned = {**MODEL, "position": "learned", "max_sequence_length": 2048}
    assert model_from_document(learned).architecture.position_rows == 2048
    assert model_from_document({**learned, "position_rows": 2050}).architecture.position_rows == 2050
    assert model_from_document({**MODEL, "max_sequence_length": 2048}).architecture.position_rows == 0


def test_a_window_is_in_every_layer_unless_told_otherwise():
    assert model_from_document({**MODEL, "sliding_window": 8}).architecture.num_local_attention_layers == 2
    some = {**MODEL, "sliding_window": 8, "num_local_attention_layers": 1}
    assert model_from_document(some).architecture.num_local_attention_layers == 1


def test_latent_attention_states_its_own_head():
    assert model_from_document({**MODEL, "mla": MLA}).architecture.head_dim == 12


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"num_key_value_heads": 3}, "/num_key_value_heads"),
        ({"num_attention_heads": 5}, "/head_dim"),
        ({"mla": MLA, "head_dim": 16}, "/head_dim"),
        ({"moe": {**MOE, "num_moe_layers": 3}}, "/moe/num_moe_layers"),
        ({"moe": {**MOE, "top_k": 9}}, "/moe/top_k"),
        ({"moe": {**MOE, "num_dense_first_layers": 1}}, "/moe/num_dense_first_layers"),
        ({"sliding_window": 8, "num_local_attention_layers": 3}, "/num_local_attention_layers"),
        ({"position": "learned"}, "/position_rows"),
    ],
)
def test_what_contradicts_itself(changes, pointer):
    assert [problem.pointer for problem in entry_problems(EntryKind.MODELS, {**MODEL, **changes})] == [pointer]


def test_a_dense_layer_needs_a_width():
    without = {key: value for key, value in MODEL.items() if key != "ffn_hidden_size"}
    assert [problem.pointer for problem in entry_problems(EntryKind.MODELS, without)] == ["/ffn_hidden_size"]
    assert entry_problems(EntryKind.MODELS, {**without, "moe": MOE}) == []


def test_documents_of_both_kinds_build():
    assert model_from_document(load_document(EntryKind.MODELS, {**MODEL, "moe": MOE})).architecture.moe.top_k == 2
