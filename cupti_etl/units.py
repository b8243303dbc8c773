"""Durations and sizes as people write them: ``5``, ``500ms``, ``2GiB``."""

from __future__ import annotations

import re
from fractions import Fraction

from cupti_etl.errors import UsageError

_DURATIONS = {
    "": 10**9,
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 24 * 3600 * 10**9,
}
_SIZES = {"": 1, "b": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_NUMBER = re.compile(r"(\d{1,19}(?:\.\d{1,19})?)\s*([a-zA-Z]*)\Z")
# What is asked for is also noted in the trace, in a column of 64 bits.
_MOST = 2**63 - 1


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things: ``1 metric``, ``1,200 metrics``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def duration_ns(text: str) -> int:
    """Nanoseconds of a duration; seconds if no unit is given (ns, us, ms, s, m, h, d).

    Raises:
        UsageError: it is not one.
    """
    return _parse(text, _DURATIONS, "a duration such as 5, 500ms or 2m")


def size_bytes(text: str) -> int:
    """Bytes of a size; kB is 1000 and KiB 1024 of them.

    Raises:
        UsageError: it is not one.
    """
    return _parse(text, _SIZES, "a size such as 500MB or 2GiB")


def share(text: str) -> float:
    """The part of a whole that a percentage such as ``1%`` or ``0.5`` says.

    Raises:
        UsageError: it is not one, or not above 0 and below 100.
    """
    try:
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise UsageError(f"{text!r} is not a percentage", "give one below 100, such as 1%")
    return value


def percent(part: float) -> str:
    """A part of a whole as a percentage with two digits, such as ``0.85 %``, or ``263 %``."""
    return f"{rounded(100 * part, 2)} %"


def rounded(value: float, digits: int) -> str:
    """A number with so many digits, or with all before its point: ``12,345``, not 1.234e+04."""
    shown = f"{value:,.{digits}g}"
    return f"{value:,.0f}" if "e+" in shown else shown


def _parse(text: str, units: dict[str, int], wanted: str) -> int:
    match = _NUMBER.match(text.strip())
    if match is None or match[2].lower() not in units:
        raise UsageError(f"{text!r} is not {wanted}", f"units are {', '.join(filter(None, units))}")
    value = round(Fraction(match[1]) * units[match[2].lower()])
    if value > _MOST:
        raise UsageError(f"{text!r} is too much", "it must be less than 2**63 ns, or bytes")
    return value
