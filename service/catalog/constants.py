"""Constants of a calibration file: each value with its unit, in SI and under the core's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.catalog.quantities import parse_quantity

_DIMENSIONS = {
    "us": "seconds",
    "ms": "seconds",
    "GB/s": "bytes_per_second",
    "B": "bytes",
    "KiB": "bytes",
    "MiB": "bytes",
    "GB": "bytes",
}
_FIELDS = {"seconds": "_seconds", "bytes_per_second": "_bytes_per_second", "bytes": "_bytes"}


def si(value: Any) -> Any:
    """Turn every "6.6 us" of a document into seconds, every "141 GB/s" into bytes/s; other values stay."""
    if isinstance(value, Mapping):
        return {key: si(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [si(entry) for entry in value]
    if isinstance(value, str) and value.rpartition(" ")[2] in _DIMENSIONS and value[:1].isdigit():
        return parse_quantity(value, _DIMENSIONS[value.rpartition(" ")[2]])
    return value


def named_constants(constants: Mapping[str, Any]) -> dict[str, float]:
    """Give each constant the field name of the core: its YAML name and the unit of its value.

    Parameters
    ----------
    constants : Mapping[str, Any]
        As a calibration file has them: ``{"launch": "4.81 us", "crowding_ratio": 0.276}``.
    """
    named = {}
    for key, value in constants.items():
        unit = value.rpartition(" ")[2] if isinstance(value, str) else ""
        suffix = _FIELDS[_DIMENSIONS[unit]] if unit in _DIMENSIONS else ""
        named[f"{key}{suffix}"] = si(value)
    return named
