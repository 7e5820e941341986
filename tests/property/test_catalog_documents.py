"""Whatever is sent as a catalogue entry, the answer is a document or a refusal with pointers; never anything else."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from service.catalog.catalog import load_shipped_catalog
from service.catalog.documents import SCHEMAS, EntryKind
from service.errors import FieldProblem, StepcastError

CATALOG = load_shipped_catalog()
KEYS = sorted({key for schema in SCHEMAS.values() for key in schema().fields} | {"network", "switch", "qkv", "top_k"})
NAMES = [
    "h100-sxm5-80gb",
    "nvlink4",
    "pcie5",
    "nvswitch3",
    "infiniband-ndr",
    "switch",
    "bridge",
    "mesh",
    "read",
    "bf16",
]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 100) | st.floats() | st.sampled_from(NAMES) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)


def refusals(ask, document):
    try:
        ask(document)
    except StepcastError as refused:
        return refused.problems or [FieldProblem("no pointer", "a refusal without problems")]
    return []


def assert_answered(ask, document):
    for problem in refusals(ask, document):
        assert problem.pointer == "" or problem.pointer.startswith("/")
        json.dumps([problem.value, problem.allowed, problem.suggestion], allow_nan=False)


@settings(deadline=None)
@given(st.sampled_from(list(EntryKind)), VALUES | DOCUMENTS)
def test_any_document_is_taken_or_refused(kind, document):
    assert_answered(lambda given: CATALOG.checked(kind, given), document)


@settings(deadline=None)
@given(
    st.fixed_dictionaries({"accelerator": st.sampled_from(NAMES) | VALUES}, optional={"gpus_per_node": VALUES}),
    DOCUMENTS,
)
def test_any_inline_system_is_built_or_refused(required, more):
    assert_answered(CATALOG.system, {**more, **required})


@settings(deadline=None)
@given(st.sampled_from([entry.id for entry in CATALOG.entries("systems")]), st.data())
def test_any_what_if_on_a_shipped_system(system, data):
    """One figure of a shipped entry changed to anything."""
    document = dict(CATALOG.entry("systems", system).document)
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(VALUES)
    assert_answered(CATALOG.system, document)


@settings(deadline=None)
@given(st.sampled_from([entry.id for entry in CATALOG.entries("models")]), st.data())
def test_any_what_if_on_a_shipped_model(model, data):
    document = dict(CATALOG.entry("models", model).document)
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(VALUES)
    assert_answered(CATALOG.model, document)
