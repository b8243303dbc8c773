"""Mangled names that stand for very much."""

from __future__ import annotations

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def reference(number: int) -> str:
    """``S_``, ``S0_``, ...: what stood at that place."""
    if not number:
        return "S_"
    number, text = number - 1, ""
    while number >= 36:
        number, text = number // 36, _DIGITS[number % 36] + text
    return f"S{_DIGITS[number]}{text}_"


def bomb(depth: int, arguments: str = "") -> str:
    """``f(A, P<A, A>, P<P<A, A>, P<A, A>>, ...)``: each argument doubles the one before."""
    pairs = "".join(f"S0_I{reference(n)}{reference(n)}E" for n in range(2, depth + 1))
    return f"_Z1f1A1PIS_S_E{pairs}{arguments}"
