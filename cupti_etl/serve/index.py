"""What stands in for the page where it was not built: a list of what can be asked, with links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote, urlencode

from cupti_etl.queries.catalog import library
from cupti_etl.render.escape import html_text
from cupti_etl.schema.arrow import TABLES
from cupti_etl.serve.formats import FORMATS

_NO_PAGE = (
    "The page that shows the trace is not part of this installation: install cupti-etl from a"
    " wheel, or run make web in its sources. This is what there is to ask."
)
# More of a table is for programs.
_ROWS = "1000"


def index_page(names: Sequence[str], tables: Iterable[str], token: str) -> str:
    """The page of traces with these tables; its links have the token."""
    title = html_text(", ".join(names))
    queries = [
        (query.name, query.front)
        for query in library()
        if query.front and not any(field.default is None for field in query.parameters)
    ]
    listed = [(name, TABLES[name].doc if name in TABLES else "") for name in tables]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"</head>\n<body><h1>{title}</h1>\n<p>{html_text(_NO_PAGE)}</p>\n"
        f"{_section('Queries', queries, token, {})}"
        f"{_section('Tables', listed, token, {'limit': _ROWS})}"
        f'<p><a href="/openapi.json?{urlencode({"token": token})}">All queries and parameters</a>'
        "</p>\n</body></html>\n"
    )


def _section(title: str, rows: Iterable[tuple[str, str]], token: str, words: dict[str, str]) -> str:
    lines = [f"<h2>{html_text(title)}</h2>\n<table>"]
    for name, says in rows:
        links = " ".join(
            f'<a href="/arrow/{html_text(quote(name, safe=""))}?'
            f'{html_text(urlencode({"format": each, **words, "token": token}))}">{each}</a>'
            for each in FORMATS
        )
        lines.append(
            f"<tr><td><code>{html_text(name)}</code></td><td>{html_text(says)}</td>"
            f"<td>{links}</td></tr>"
        )
    return "\n".join((*lines, "</table>\n"))
