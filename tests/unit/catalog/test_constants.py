"""Values with their unit become SI under the core's names."""

import pytest

from service.catalog.constants import named_constants, si


def test_yaml_names_and_units_become_the_cores():
    constants = named_constants({"launch": "4.5 us", "bandwidth": "141 GB/s", "line": "4096 B", "crowding_ratio": 0.2})
    assert constants == {
        "launch_seconds": pytest.approx(4.5e-6),
        "bandwidth_bytes_per_second": pytest.approx(141e9),
        "line_bytes": 4096,
        "crowding_ratio": 0.2,
    }


def test_nested_values_are_turned_and_words_left():
    assert si({"a": ["60 GB/s", 3], "b": {"c": "dgx-h100"}}) == {"a": [60e9, 3], "b": {"c": "dgx-h100"}}
