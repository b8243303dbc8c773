"""Kernel names: mangled as CUPTI gives them, demangled, and short."""

from __future__ import annotations

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


def _without_brackets(name: str) -> str:
    """The text outside of (), <> and []; ``operator<`` and its like keep theirs."""
    out, depth, at = [], 0, 0
    while at < len(name):
        if depth == 0 and name.startswith("operator", at):
            end = at + len("operator")
            if name.startswith(("()", "[]"), end):
                end += 2
            else:
                while end < len(name) and name[end] in "<>=!+-*/%&|^~,":
                    end += 1
            out.append(name[at:end])
            at = end
            continue
        char = name[at]
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            depth -= 1
        elif depth == 0:
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
    if "operator" not in bare:
        bare = bare.split(" ")[-1] if " " in bare else bare
    last = bare.rsplit("::", 1)[-1].strip()
    return last or demangled


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
                row = {"mangled": mangled, "demangled": demangled, "short": short_name(demangled)}
                self._new.append(row)

    def take(self) -> list[dict[str, str]]:
        """The rows added since the last call."""
        new, self._new = self._new, []
        return new
