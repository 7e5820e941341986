"""Models: the numbers of a configuration file."""

from service.catalog.schemas.models import ModelSchema
from tests.unit.catalog.documents_of import MODEL, MOE


def test_what_no_count_can_do_without():
    assert set(ModelSchema().validate({})) == set(MODEL) - {"ffn_hidden_size"}


def test_parts_are_strict_too():
    errors = ModelSchema().validate({**MODEL, "moe": {**MOE, "experts": 8}, "mla": {}, "bias": {"qkv": 1}})
    assert set(errors) == {"moe", "mla", "bias"}
    assert set(errors["moe"]) == {"experts"}
