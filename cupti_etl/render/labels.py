"""Names of kernels that say which is which: many have the same function, and other arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# "void at::native::(anonymous namespace)::reduce<float>": what stands before the function.
_NAMESPACES = re.compile(r"^void |(?:\w+|\(anonymous namespace\))::")
_LONGEST = 120
# CUTLASS calls all its functions so.
_SAYS_NOTHING = "Kernel"


def disambiguate(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with template arguments in the ``name`` of those that share one.

    Rows without ``demangled`` are left as they are.
    """
    kernels: dict[str, set[str]] = {}
    for row in rows:
        if row.get("demangled"):
            kernels.setdefault(row["name"], set()).add(row["demangled"])
    return [
        {**row, "name": with_arguments(row["demangled"])}
        if len(kernels.get(row.get("name", ""), ())) > 1 or row.get("name") == _SAYS_NOTHING
        else dict(row)
        for row in rows
    ]


def with_arguments(demangled: str) -> str:
    """The function and its template's arguments, without namespaces, cut where it is long."""
    text = _NAMESPACES.sub("", demangled)
    depth = 0
    for at, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "(" and depth == 0:
            text = text[:at]
            break
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
