"""Names turned into things, and the bytes asked about."""

from functools import cache

import pytest

from service.catalog.catalog import load_shipped_catalog
from service.core.collectives.cost import Collective
from service.core.numerics import Dtype
from service.errors import StepcastError, UnsupportedRankCount
from service.planning.collective_question import Buffer, CollectiveQuestion, buffer_of, resolve


@cache
def catalog():
    return load_shipped_catalog()


def question(system="dgx-h100", gpus=8, **fields):
    return CollectiveQuestion(system, Collective.ALL_REDUCE, gpus, **fields)


def test_an_alias_is_the_entry_it_names():
    system, placement, buffer = resolve(question("8xH100", size_bytes=5), catalog())
    assert system.id == "dgx-h100"
    assert placement.num_ranks == 8
    assert buffer == Buffer(5, None, None)


def test_one_gradient_for_each_parameter():
    """GPT-2 has 124439808 parameters: 4 bytes each in fp32."""
    buffer = buffer_of(question(model="gpt2", dtype=Dtype.FP32), catalog())
    assert buffer == Buffer(4 * 124439808, "gpt2", 124439808)


def test_an_inline_system_of_an_accelerator_without_one():
    """Eight L40S on PCIe 4: 31.5 GB/s each way."""
    inline = {"accelerator": "l40s", "gpus_per_node": 8, "scale_up": {"topology": "pcie"}}
    system, _, _ = resolve(question(inline, size_bytes=5), catalog())
    assert system.accelerator.id == "l40s"
    assert system.scale_up.bandwidth_bytes_per_second == pytest.approx(31.5e9)


def test_one_kind_of_refusal_keeps_its_kind():
    with pytest.raises(UnsupportedRankCount) as refusal:
        resolve(question("hgx-h100-8gpu", 9, size_bytes=5), catalog())
    assert refusal.value.problems[0].suggestion == 8


def test_several_kinds_are_told_together():
    with pytest.raises(StepcastError) as refusal:
        resolve(question("hgx-h100-8gpu", 9), catalog())
    assert [p.pointer for p in refusal.value.problems] == ["/size_bytes", "/gpus"]


@pytest.mark.parametrize(
    ("system", "fields", "pointer", "suggestion"),
    [
        ("dgx-b200", {"nccl_version": "2.20"}, "/nccl_version", "2.25"),
        ("dgx-h100", {"registered_buffers": True, "implementation": "vllm"}, "/registered_buffers", False),
    ],
)
def test_what_cannot_be_is_refused_by_name(system, fields, pointer, suggestion):
    with pytest.raises(StepcastError) as refusal:
        resolve(question(system, size_bytes=5, **fields), catalog())
    (problem,) = refusal.value.problems
    assert (problem.pointer, problem.suggestion) == (pointer, suggestion)
