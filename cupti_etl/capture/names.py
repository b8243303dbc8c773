"""Kernel names: mangled as CUPTI gives them, demangled, and short."""

from __future__ import annotations

import re
from collections.abc import Iterable


def demangle(mangled: str) -> str:
    """The C++ name behind a mangled one; anything else is returned as it is."""
    if not mangled.startswith("_Z"):
        return mangled
    import cxxfilt

    try:
        demangled: str = cxxfilt.demangle(mangled)
    except cxxfilt.Error:
        return mangled
    return demangled


_OPERATOR = re.compile(r"\boperator\b(?:\(\)|\[\]|[<>=!+\-*/%&|^~,]+)?")
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}


def _without_brackets(name: str) -> str:
    """The text outside of (), <>, [] and {}; ``operator<`` and its like keep theirs."""
    out: list[str] = []
    open_: list[str] = []
    at = 0
    while at < len(name):
        match = None if open_ else _OPERATOR.match(name, at)
        # \b would also match behind a letter where the search starts.
        if match and not (at and (name[at - 1].isalnum() or name[at - 1] == "_")):
            out.append(match[0])
            at = match.end()
            continue
        char = name[at]
        if char in "(<[{":
            open_.append(char)
        elif char in _CLOSES:
            # Inside of parentheses a > is "greater than" or part of an arrow.
            if open_ and open_[-1] == _CLOSES[char]:
                open_.pop()
        elif not open_:
            out.append(char)
        at += 1
    return "".join(out)


def short_name(demangled: str) -> str:
    """The function's own name: no return type, namespaces, template or call arguments.

    ``void at::native::f<int>(int*)`` becomes ``f``.
    """
    # An anonymous namespace would otherwise look like call arguments.
    plain = demangled.replace("(anonymous namespace)", "{anonymous}")
    bare = _without_brackets(plain).strip()
    for suffix in (" const", " volatile", "&&", "&"):
        bare = bare.removesuffix(suffix)
    if not _OPERATOR.search(bare):
        bare = bare.split(" ")[-1] if " " in bare else bare
    last = bare.rsplit("::", 1)[-1].strip()
    return last or demangled


_NESTED = re.compile(r"_ZN?(?:[VKr]*)")
# A name comes from another program: no length is so long that Python refuses to read it.
_LENGTH = re.compile(r"\d{1,9}")


def _identifier(mangled: str) -> str:
    """The function's own name in a mangled name that is too long to be demangled.

    Only the part before the template arguments is looked at: identifiers, each behind its
    length (Itanium C++ ABI, 5.1.2).
    """
    match = _NESTED.match(mangled)
    if match is None:
        return short_name(mangled)
    at, last = match.end(), ""
    while found := _LENGTH.match(mangled, at):
        end = found.end() + int(found[0])
        if end > len(mangled):
            break
        last, at = mangled[found.end() : end], end
    return last or mangled


class KernelNames:
    """Collects the rows of the table ``kernel_name``."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._new: list[dict[str, str]] = []

    def add(self, names: Iterable[str]) -> None:
        """Take note of mangled names."""
        for mangled in names:
            if mangled not in self._seen:
                self._seen.add(mangled)
                demangled = demangle(mangled)
                short = _identifier(mangled) if demangled == mangled else short_name(demangled)
                row = {"mangled": mangled, "demangled": demangled, "short": short}
                self._new.append(row)

    def take(self) -> list[dict[str, str]]:
        """The rows added since the last call."""
        new, self._new = self._new, []
        return new
