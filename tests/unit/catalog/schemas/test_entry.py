"""What all kinds share."""

import pytest
from marshmallow import ValidationError

from service.catalog.schemas.entry import EntrySchema


@pytest.mark.parametrize("entry_id", ["dgx-h100", "llama3.1-70b", "oci-bm.gpu.h100.8", "l4", "a_b"])
def test_ids(entry_id):
    assert EntrySchema().load({"id": entry_id})["id"] == entry_id


@pytest.mark.parametrize(
    ("entry_id", "suggestion"),
    [("DGX H100", "dgx-h100"), ("a/b", "a-b"), ("-a", "a"), ("../etc", "etc"), ("x" * 100, "x" * 99), ("é", None)],
)
def test_what_is_no_id(entry_id, suggestion):
    with pytest.raises(ValidationError) as refused:
        EntrySchema().load({"id": entry_id})
    assert refused.value.messages["id"][0].suggestion == suggestion


@pytest.mark.parametrize(
    "document",
    [
        {"colour": "red"},
        {"sources": [{"url": "https://a.example"}]},
        {"sources": [{"url": "https://a.example", "evidence": "rumour"}]},
        {"figure_sources": {"/x": "https://a.example"}},
        {"figure_sources": []},
        {"alternatives": [{"figure": "/x", "value": None, "according_to": "a"}]},
        {"aliases": "h100"},
    ],
)
def test_what_is_refused(document):
    with pytest.raises(ValidationError):
        EntrySchema().load(document)
