"""Ids and aliases: exact, ignoring case, never guessed."""

import pytest

from service.catalog.documents import EntryKind
from service.catalog.names import Names
from service.errors import AmbiguousAlias, UnknownCatalogEntry

NAMES = Names.of(
    EntryKind.MODELS, [("llama2-70b", ["llama-70b"]), ("llama3-70b", ["llama-70b", "Meta/L3"]), ("l3", [])]
)


@pytest.mark.parametrize("name", ["llama3-70b", "LLAMA3-70B", "meta/l3", " Meta/L3 "])
def test_ids_and_aliases_ignore_case(name):
    assert NAMES.resolve(name, "/model") == "llama3-70b"


def test_a_prefix_is_not_a_name():
    with pytest.raises(UnknownCatalogEntry) as refused:
        NAMES.resolve("llama3-70", "/model")
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.value, problem.suggestion) == ("/model", "llama3-70", "llama3-70b")
    assert problem.allowed == ["l3", "llama2-70b", "llama3-70b"]


def test_an_alias_of_two_is_answered_with_both():
    with pytest.raises(AmbiguousAlias) as refused:
        NAMES.resolve("Llama-70B", "/model")
    assert refused.value.problems[0].allowed == ["llama2-70b", "llama3-70b"]


def test_an_id_beats_an_alias():
    names = Names.of(EntryKind.MODELS, [("l4", []), ("other", ["l4"])])
    assert names.resolve("L4", "") == "l4"


@pytest.mark.parametrize("name", ["", "x" * 1_000_000, "\0", "💥", "llama3-70b\n\nx"])
def test_any_text_gets_a_short_answer(name):
    with pytest.raises(UnknownCatalogEntry) as refused:
        NAMES.resolve(name, "")
    assert len(refused.value.detail) < 600
