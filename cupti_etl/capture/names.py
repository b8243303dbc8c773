"""Kernel names: mangled as CUPTI gives them, demangled, and short."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cupti_etl.capture.demangle import LONGEST_TEXT, Demangler

_OPERATOR = re.compile(r"\boperator\b(?:\(\)|\[\]|[<>=!+\-*/%&|^~,]+)?")
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}
# Tensile, which makes AMD's products of matrices, puts some 60 parameters into a name; up to the
# tile it says what is multiplied.
_TENSILE = re.compile(r"((?:Custom_)?Cijk_\w*?_MT\d+x\d+x\d+)_(\w+)(?:\.kd)?")
# CuTe's Python puts the types of the arguments into a name, and the object whose method it is.
_CUTE = re.compile(
    r"(kernel_cutlass_\w+?)(?:_object_at_)?_+"
    r"((?:tensor(?:ptr|[0-9])|Tiled(?:Copy|MMA)_|(?:Copy|Mma)Atom_|(?:Composed)?Layout_)\w*)"
)


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
    # What follows such a length are arguments.
    demangled = demangled[:LONGEST_TEXT]
    # An anonymous namespace would otherwise look like call arguments.
    plain = demangled.replace("(anonymous namespace)", "{anonymous}")
    bare = _without_brackets(plain).strip()
    for suffix in (" const", " volatile", "&&", "&"):
        bare = bare.removesuffix(suffix)
    if not _OPERATOR.search(bare):
        bare = bare.split(" ")[-1] if " " in bare else bare
    last = bare.rsplit("::", 1)[-1].strip()
    return parameters(last)[0] or demangled


def parameters(name: str) -> tuple[str, list[str]]:
    """A name, and the parameters that its end is made of where a generator wrote them there."""
    if tensile := _TENSILE.fullmatch(name):
        return tensile[1], tensile[2].split("_")
    if cute := _CUTE.fullmatch(name):
        return cute[1], [each for each in cute[2].split("_") if each]
    return name, []


_NESTED = re.compile(r"_Z(N?)[VKr]*")
# A name comes from another program: no length is so long that Python refuses to read it.
_LENGTH = re.compile(r"\d{1,9}")
# Where arguments are: numbers, those of enumerations, what has digits and is none, and names.
_ARGUMENT = re.compile(
    r"L(?P<type>[a-z]|S[0-9A-Z]*_)(?P<value>n?\d+)E|E(?P<enum>n?\d+)E"
    r"|S[0-9A-Z]*_|T\d*_|E\d+_|D[FBUv]\d+(?:_|b|x)?|(?P<length>\d{1,9})"
)
_BOOLEANS = {"0": "false", "1": "true"}


def identifier(mangled: str) -> tuple[str, int]:
    """The function's own name in a mangled name that cannot be demangled, and where it ends.

    Only the part before the template arguments is looked at: identifiers, each behind its
    length (Itanium C++ ABI, 5.1.2).  If there is none, the end is 0.
    """
    match = _NESTED.match(mangled)
    at, last = match.end() if match else 0, ""
    while match and (found := _LENGTH.match(mangled, at)):
        end = found.end() + int(found[0])
        if end > len(mangled):
            break
        last, at = mangled[found.end() : end], end
        if not match[1]:
            break  # what follows are the types of its arguments
    return (last, at) if last else (mangled, 0)


def mangled_arguments(mangled: str) -> list[str]:
    """The names and numbers after the function's own name, without the namespaces around them.

    They are enough to tell two functions apart, and no tree of arguments.
    """
    found: list[str] = []
    _, at = identifier(mangled)
    while at and (part := _ARGUMENT.search(mangled, at)):
        at = part.end()
        if number := part["value"] or part["enum"]:
            value = number.replace("n", "-")
            found.append(_BOOLEANS.get(value, value) if part["type"] == "b" else value)
        elif part["length"]:
            end = at + int(part["length"])
            name = mangled[at:end]
            if end <= len(mangled) and name.isidentifier():
                at = end
                if not mangled[end : end + 1].isdigit():  # else it is a namespace
                    found.append(name)
    return found


def name_row(mangled: str, demangled: str) -> dict[str, str]:
    """The row of ``kernel_name``; ``demangled`` is the same where that could not be done."""
    known = demangled != mangled or not mangled.startswith("_Z")
    short = short_name(demangled) if known else identifier(mangled)[0]
    return {"mangled": mangled, "demangled": demangled, "short": short}


class KernelNames:
    """Collects the rows of the table ``kernel_name``."""

    def __init__(self) -> None:
        self._demangler = Demangler()
        self._seen: set[str] = set()
        self._new: list[dict[str, str]] = []

    @property
    def refused(self) -> int:
        """Names that stay mangled, because demangling them takes too much time or memory."""
        return self._demangler.refused

    def close(self) -> None:
        """No more names are added."""
        self._demangler.close()

    def add(self, names: Iterable[str]) -> None:
        """Take note of mangled names."""
        for mangled in names:
            if mangled not in self._seen:
                self._seen.add(mangled)
                self._new.append(name_row(mangled, self._demangler.demangle(mangled)))

    def take(self) -> list[dict[str, str]]:
        """The rows added since the last call."""
        new, self._new = self._new, []
        return new
