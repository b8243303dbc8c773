"""The page for those who come from other tools names queries that there are."""

from __future__ import annotations

import re
from pathlib import Path

from cupti_etl.queries.catalog import library

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "from-other-tools.md"


def test_each_query_exists() -> None:
    rows = [line.split("|")[2] for line in PAGE.read_text().splitlines() if line.count("|") == 3]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert len(named) > 25
    assert named <= {query.name for query in library()}
