"""What ``analysis`` says is a query of the library: it holds no SQL of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import cupti_etl.analysis

FOLDER = Path(cupti_etl.analysis.__file__).parent
# In upper case, as SQL is written here: `from` is a word of English, too.
_SQL = re.compile(r"\b(SELECT|FROM|WHERE|GROUP BY|ORDER BY|LIMIT|JOIN|WITH)\b")
_RUNS = ("sql", "execute", "refined")


def sql_in(source: str) -> Iterator[str]:
    """Texts that are SQL, and what runs any."""
    tree = ast.parse(source)
    docs = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value not in docs and _SQL.search(node.value):
                yield node.value
        elif isinstance(node, ast.Attribute) and node.attr in _RUNS:
            yield ast.unparse(node)


def test_analysis_holds_no_sql() -> None:
    paths = sorted(FOLDER.glob("*.py"))
    assert len(paths) > 5
    found = {path.name: list(sql_in(path.read_text())) for path in paths}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_sql_is_seen() -> None:
    planted = '''
def find(trace):
    """Taken FROM the library."""
    rows = trace.query("kernel_summary")
    more = trace.sql(text)
    where = f"WHERE gpu = {gpu}"
    return "from the report"
'''
    assert sorted(sql_in(planted)) == ["WHERE gpu = ", "trace.sql"]
