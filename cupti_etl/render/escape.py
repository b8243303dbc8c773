"""Text of a trace, as it is shown to people: nothing in it steers a terminal or a page."""

from __future__ import annotations

import re

from cupti_etl.progress import printable

# Markdown can hold HTML: what would begin an element that does something, or end one.  Its name
# begins with a letter, and it has an attribute or is one of these; others are arguments of
# templates, and stay as they are.
_ELEMENT = (
    r"<(?=[/!?]|[a-z][^<>]*=|(?:script|style|title|textarea|template|noscript|xmp|plaintext)\b)"
)
# Then a link's address, and the end of a cell.
_MARKUP = re.compile(rf"{_ELEMENT}|(?<=\])\(|[\\|]", re.IGNORECASE)


def markdown_text(text: str) -> str:
    """The text as Markdown that shows it, on one line, also within a cell of a table."""
    return _MARKUP.sub(r"\\\g<0>", printable(text.replace("\n", " ")))


def html_text(text: object) -> str:
    """The text as HTML that shows it, also within an attribute."""
    from html import escape  # slow to load, and not needed on a terminal

    return escape(printable(str(text)))
