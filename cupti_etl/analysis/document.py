"""What a notebook shows as a page, and ``print`` as Markdown."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

from cupti_etl.errors import UsageError
from cupti_etl.render.output import open_output

_FRAME = "width: 100%; height: 44rem; border: 0"


class Document(ABC):
    """An answer of several parts."""

    @abstractmethod
    def page(self) -> str:
        """As a page of HTML that needs nothing else."""

    @abstractmethod
    def __str__(self) -> str:
        """As Markdown."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: .html for a page, .md for Markdown.

        Raises:
            UsageError: the suffix is another one, or the file cannot be written.
        """
        check_suffix(path := Path(path))
        with open_output(path) as out:
            out.write((self.page() if path.suffix == ".html" else str(self)).encode())

    def _repr_html_(self) -> str:
        from html import escape  # slow to load

        # The page has styles and a script of its own, which are none of the notebook's; without a
        # base its links to its sections would be to the notebook.
        page = self.page().replace("<head>", '<head><base href="about:srcdoc">', 1)
        return f'<iframe srcdoc="{escape(page)}" style="{_FRAME}"></iframe>'


def check_suffix(path: Path) -> None:
    """Refuse a file that is not to be a page or Markdown.

    Raises:
        UsageError: its suffix is another one.
    """
    if path.suffix not in (".html", ".md"):
        raise UsageError(f"{path} is neither .html nor .md", "choose one of these suffixes")
