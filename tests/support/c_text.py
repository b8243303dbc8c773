"""What C files declare, define and use, as far as their text says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOISE = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' """, re.DOTALL | re.VERBOSE
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_ATTRIBUTES = re.compile(
    r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\b[A-Z][A-Z_]*_(?:CHECK|EXPORT)\b"
    r"|\bETL_PRINTF\([^)]*\)|\b_Alignas\([^)]*\)"
)
_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_FUNCTION = re.compile(rf"\w[\s*]+([A-Za-z_]\w*)\s*{_PARENTHESES}\s*$")
_TAG = re.compile(r"\b(?:struct|union|enum)\s+\w+|(?:->|\.)\s*\w+")


def plain(text: str) -> str:
    """C without comments, texts, directives and attributes."""
    return _ATTRIBUTES.sub("", _DIRECTIVE.sub("", _NOISE.sub(" ", text)))


def _heads(text: str) -> Iterator[tuple[str, bool]]:
    """What stands before a body or a semicolon outside of all braces, and which of them."""
    depth, begin, head = 0, 0, ""
    for at, letter in enumerate(text):
        if letter == "{":
            head += text[begin:at] if depth == 0 else ""
            depth += 1
        elif letter == "}":
            depth, begin = depth - 1, at + 1
            if depth == 0 and _FUNCTION.search(head) and "=" not in head:
                yield head, True
                head = ""
        elif letter == ";" and depth == 0:
            yield head + text[begin:at], False
            head, begin = "", at + 1


def _functions(path: Path, has_body: bool) -> set[str]:
    found = set()
    for head, is_definition in _heads(plain(path.read_text())):
        match = _FUNCTION.search(head)
        words = set(_WORD.findall(head))
        if match and is_definition == has_body and not words & {"static", "typedef", "inline"}:
            found.add(match[1])
    return found


def defined(path: Path) -> set[str]:
    """Names of the functions that a file defines for others."""
    return _functions(path, has_body=True)


def declared(path: Path) -> set[str]:
    """Names of the functions that a header says others have."""
    return _functions(path, has_body=False)


def used(path: Path) -> set[str]:
    """All names in a file that may be those of functions or variables."""
    return set(_WORD.findall(_TAG.sub(" ", plain(path.read_text()))))
