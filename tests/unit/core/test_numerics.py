"""Bytes an element."""

from service.core.numerics import Dtype


def test_bytes_of_an_element():
    assert {d.value: d.size_bytes for d in Dtype} == {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}


def test_only_int8_is_not_floating():
    assert [d for d in Dtype if not d.is_floating] == [Dtype.INT8]
