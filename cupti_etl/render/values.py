"""Values as people read them: ``12.3 ms``, ``4.1 MiB``, ``12.3 %``, ``1,234``, ``+1.234 s``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

TIME_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_SIZE_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# Units that values have beside them; the others are nouns and rates, which a heading tells.
IN_CELLS = ("ns", "bytes", "%", "epoch ns", "gigabytes/s")
# What is not there.
NOTHING = "-"
# Digits behind the point of a duration in a unit that was asked for: to the nanosecond, but for
# seconds, where these are more than anybody reads.
_DIGITS = {"ns": 0, "us": 3, "ms": 3, "s": 6}
# A point in time so far from the trace's beginning is none.
_YEAR_NS = 366 * 86400 * 10**9


def duration(ns: float, unit: str = "auto") -> str:
    """A duration in a unit that fits it, or in one of ``TIME_UNITS``."""
    if not math.isfinite(ns):
        return str(ns)
    if unit == "auto":
        return _scaled(ns, TIME_UNITS, 1000)
    return f"{ns / TIME_UNITS[unit]:,.{_DIGITS[unit]}f} {unit}"


def size(count: float) -> str:
    """A number of bytes in a unit that fits it."""
    return _scaled(count, _SIZE_UNITS, 1024) if math.isfinite(count) else str(count)


def percentage(value: float) -> str:
    """A share; one that is too small to be seen is told from none."""
    if 0 < abs(value) < 0.05:
        return f"{'<' if value > 0 else '>-'}0.1 %"
    return f"{value:,.1f} %"


def moment(ns: int, begin_ns: int, unit: str = "auto") -> str:
    """A point in time, from the trace's beginning."""
    since = ns - begin_ns
    if abs(since) > _YEAR_NS:
        return str(ns)
    if unit != "auto":
        return f"{'+' if since >= 0 else ''}{duration(since, unit)}"
    # Neighbours in time have to be told apart: as many digits as there are microseconds.
    if abs(since) < 10**6:
        return f"{since / 1e3:+,.3f} us"
    return f"{since / 1e6:+,.3f} ms" if abs(since) < 10**9 else f"{since / 1e9:+,.6f} s"


def number(value: int | float | Decimal, *, is_fraction: bool = False) -> str:
    """A number of anything else.

    Args:
        value: the number.
        is_fraction: whether it stands among some with digits behind the point, and has them, too.
    """
    if isinstance(value, Decimal):
        is_whole = value == value.to_integral_value() and not is_fraction
        value = int(value) if is_whole else float(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 10**15 and not (is_fraction and value):
        return f"{int(value):,}"
    return _three_digits(value) if abs(value) >= 0.0995 else f"{value:.3g}"


def has_fraction(values: Iterable[Any]) -> bool:
    """Whether a number among them has digits behind the point."""
    return any(
        each != each.to_integral_value() if isinstance(each, Decimal) else not each.is_integer()
        for each in values
        if isinstance(each, (float, Decimal))
    )


def in_unit(
    value: Any, unit: str, time_unit: str = "auto", begin_ns: int = 0, *, is_fraction: bool = False
) -> str:
    """A value in the unit that a header gives its column."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float, Decimal)):
        return one_line(value)
    if unit == "id":
        return str(value)
    if unit == "ns":
        return duration(float(value), time_unit)
    if unit == "bytes":
        return size(float(value))
    if unit == "%":
        return percentage(float(value))
    if unit == "epoch ns":
        return moment(int(value), begin_ns, time_unit)
    if unit == "gigabytes/s":
        return f"{number(value, is_fraction=is_fraction)} GB/s"
    return number(value, is_fraction=is_fraction)


def plain(value: Any) -> str:
    """A value as it is."""
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else one_line(value)


def one_line(value: Any) -> str:
    """A text on one line; what would steer a terminal is not in it."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def _scaled(value: float, units: dict[str, int], base: int) -> str:
    """Three digits and a unit."""
    if value == 0:
        return "0"
    names = list(units)
    at = 0
    while at < len(names) - 1 and abs(value) / units[names[at]] >= base:
        at += 1
    text = _three_digits(value / units[names[at]], is_whole=at == 0 and value == int(value))
    # 999,999 ns are a millisecond, and not a thousand microseconds.
    if at < len(names) - 1 and abs(float(text.replace(",", ""))) >= base:
        at += 1
        text = _three_digits(value / units[names[at]])
    return f"{text} {names[at]}"


def _three_digits(value: float, *, is_whole: bool = False) -> str:
    if is_whole or abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
