"""The only conversion of units in the house: what a datasheet prints, to SI floats, and back for human readers.

The grammar is closed and case-sensitive: a decimal number, one space, one unit of the table below. ``GB`` is 10^9 bytes
and ``GiB`` 2^30; bits are spelt ``Gbit/s``, because ``Gb/s`` is read as GB/s by every second reader.
"""

from __future__ import annotations

import difflib
import re
from decimal import Decimal
from typing import Any

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def _scaled(symbol: str, prefixes: str = "kMGTPE") -> dict[str, Decimal]:
    return {prefix + symbol: Decimal(_DECIMAL[prefix]) for prefix in ["", *prefixes]}


_BYTES = _scaled("B", "kMGTP") | {f"{prefix}B": Decimal(factor) for prefix, factor in _BINARY.items()}
_BITS_PER_SECOND = {unit: factor / 8 for unit, factor in _scaled("bit/s", "kMGT").items()}

# Dimension (the suffix of the SI name) -> unit -> factor.
UNITS: dict[str, dict[str, Decimal]] = {
    "bytes": _BYTES,
    "bytes_per_second": {f"{unit}/s": factor for unit, factor in _BYTES.items()} | _BITS_PER_SECOND,
    "flops_per_second": _scaled("FLOP/s") | _scaled("OP/s"),  # an int8 multiply-add counts as two operations, too
    "transfers_per_second": _scaled("T/s", "MG"),
    "hertz": _scaled("Hz", "kMG"),
    "watts": _scaled("W", "kMG"),
    "seconds": {
        "s": Decimal(1),
        "ms": Decimal(1).scaleb(-3),
        "us": Decimal(1).scaleb(-6),
        "ns": Decimal(1).scaleb(-9),
        "min": Decimal(60),
        "h": Decimal(3600),
        "d": Decimal(86400),
    },
    "usd": {"USD": Decimal(1)},
    "usd_per_hour": {"USD/h": Decimal(1)},
}

# What no accelerator, link, rack or price of this decade exceeds: a figure beyond it has lost its unit.
CEILINGS = {
    "bytes": 1e18,
    "bytes_per_second": 1e18,
    "flops_per_second": 1e21,
    "transfers_per_second": 1e12,
    "hertz": 1e11,
    "watts": 1e10,
    "seconds": 1e9,
    "usd": 1e12,
    "usd_per_hour": 1e9,
}
# Below this nothing is a figure of hardware, and a quotient of it may no longer be finite.
SMALLEST = 1e-12
MAX_SIZE_BYTES = 10**18
_MAX_TEXT = 40

_QUANTITY = re.compile(r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,12})?) (?P<unit>[A-Za-z/]+)")
_SIZE = re.compile(r"\s*(?P<number>[0-9]{1,19}(?:\.[0-9]{1,12})?)\s*(?P<unit>[A-Za-z]*)\s*")
_BARE_PREFIX = re.compile(r"\s*[KkMGTP]\s*")

# For people: the units worth printing, largest first.
_PRINTED = {
    "bytes": ["PB", "TB", "GB", "MB", "kB", "B"],
    "bytes_per_second": ["PB/s", "TB/s", "GB/s", "MB/s", "kB/s", "B/s"],
    "flops_per_second": ["EFLOP/s", "PFLOP/s", "TFLOP/s", "GFLOP/s", "MFLOP/s", "kFLOP/s", "FLOP/s"],
    "transfers_per_second": ["GT/s", "MT/s", "T/s"],
    "hertz": ["GHz", "MHz", "kHz", "Hz"],
    "watts": ["GW", "MW", "kW", "W"],
    "seconds": ["d", "h", "min", "s", "ms", "us", "ns"],
    "usd": ["USD"],
    "usd_per_hour": ["USD/h"],
}


class InvalidQuantity(ValueError):
    """Text that is no quantity, or not one of the dimension wanted. Says what would be taken."""

    def __init__(self, message: str, suggestion: Any = None) -> None:
        super().__init__(message if suggestion is None else f"{message}; did you mean {suggestion}?")
        self.message = message
        self.suggestion = suggestion


def parse_quantity(text: object, dimension: str) -> float:
    """Read a datasheet's figure, such as ``"3.35 TB/s"``, as an SI float.

    Parameters
    ----------
    text : object
        A number, one space, a unit; anything else is refused.
    dimension : str
        Suffix of the SI name: ``bytes_per_second``, ``watts``, …

    Raises
    ------
    InvalidQuantity
        If the text does not follow the grammar or the unit is of another dimension.
    """
    units = UNITS[dimension]
    example = f"a number, a space and a unit, such as {_example(dimension)!r}"
    if isinstance(text, bool) or not isinstance(text, str):
        raise InvalidQuantity(f"{_shown(text)} has no unit: write {example}")
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InvalidQuantity(f"{_shown(text)} is not {example}", _respaced(text, units))
    unit = match["unit"]
    if unit not in units:
        raise InvalidQuantity(
            f"{unit!r} is not a unit of {dimension}: use one of {_listed(units)}", _near(match, units)
        )
    return float(Decimal(match["number"]) * units[unit])


def parse_size(value: object) -> int:
    """Read a size in bytes from a request: an integer, or text such as ``"141GB"`` or ``"1.5 GiB"``.

    Parameters
    ----------
    value : object
        An integer of bytes, a float that is one (JSON writes ``1e9``), or a number with a unit of bytes.

    Raises
    ------
    InvalidQuantity
        If it is not a whole, positive number of bytes, or the unit is ambiguous (``G``).
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidQuantity(f"{_shown(value)} is not a size: give an integer of bytes or text such as '4GiB'")
    if isinstance(value, str):
        return _whole_bytes(_size_text(value), value)
    if isinstance(value, float) and not value.is_integer():  # NaN and infinity are not integers either
        raise InvalidQuantity(f"{_shown(value)} is not a whole number of bytes")
    return _whole_bytes(Decimal(int(value)), value)


def format_quantity(value: float, dimension: str) -> str:
    """Write an SI value for a human reader, to four significant digits: ``3.35e12`` -> ``"3.35 TB/s"``."""
    units, printed = UNITS[dimension], _PRINTED[dimension]
    unit = next((unit for unit in printed if abs(value) >= units[unit]), printed[-1])
    if value == 0:
        unit = next(unit for unit in printed if units[unit] == 1)
    scaled = Decimal(value) / units[unit]
    digits = max(0, 3 - scaled.adjusted()) if scaled else 0
    number = f"{scaled:.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def _size_text(text: str) -> Decimal:
    match = _SIZE.fullmatch(text)
    bare = _BARE_PREFIX.fullmatch(text)
    if match is None and bare is None:
        raise InvalidQuantity(
            f"{_shown(text)} is not a size: give an integer of bytes or text such as '141GB' or '4GiB'"
        )
    number, unit = (match["number"], match["unit"]) if match else ("1", text.strip())
    if unit == "":
        return Decimal(number)
    if unit in _BYTES:
        return Decimal(number) * _BYTES[unit]
    prefix = unit[:1].upper()
    if prefix in "KMGTP" and unit.upper().removesuffix("B") in (prefix, f"{prefix}I"):
        decimal, binary = "k" if prefix == "K" else prefix, prefix
        why = f"{unit!r} is ambiguous" if len(unit) == 1 else f"{unit!r} is not a unit of bytes (case matters)"
        raise InvalidQuantity(f"{why}: GB is 10^9 bytes, GiB is 2^30", f"{number}{decimal}B or {number}{binary}iB")
    raise InvalidQuantity(f"{_shown(unit)} is not a unit of bytes: use one of {_listed(_BYTES)}")


def _whole_bytes(size: Decimal, given: object) -> int:
    if size != size.to_integral_value():
        raise InvalidQuantity(f"{_shown(given)} is not a whole number of bytes", int(size) or 1)
    if size < 1:
        raise InvalidQuantity(f"{_shown(given)} is not a positive number of bytes")
    if size > MAX_SIZE_BYTES:
        raise InvalidQuantity(f"{_shown(given)} is more than an exabyte", MAX_SIZE_BYTES)
    return int(size)


def _example(dimension: str) -> str:
    return {
        "bytes": "80 GiB",
        "bytes_per_second": "3.35 TB/s",
        "flops_per_second": "989.4 TFLOP/s",
        "transfers_per_second": "32 GT/s",
        "hertz": "1830 MHz",
        "watts": "700 W",
        "seconds": "25 us",
        "usd": "199000 USD",
        "usd_per_hour": "98.32 USD/h",
    }[dimension]


def _respaced(text: str, units: dict[str, Decimal]) -> str | None:
    match = re.fullmatch(r"\s*([0-9]{1,18}(?:\.[0-9]{1,12})?)\s*([A-Za-z/]+)\s*", text[:_MAX_TEXT])
    return f"{match[1]} {match[2]}" if match and match[2] in units else None


def _near(match: re.Match[str], units: dict[str, Decimal]) -> str | None:
    if re.fullmatch(r"[kMGT]b(?:/s|ps)", match["unit"]):  # bits, as network people write them
        return f"{match['number']} {match['unit'][0]}bit/s" if "bit/s" in units else None
    other_case = [unit for unit in units if unit.lower() == match["unit"].lower()]
    nearest = other_case or difflib.get_close_matches(match["unit"][:_MAX_TEXT], units, n=1)
    return f"{match['number']} {nearest[0]}" if nearest else None


def _listed(units: dict[str, Decimal]) -> str:
    return ", ".join(units)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
