"""The header of a query: what its ``.sql`` says about it.

A query is ``library/<topic>/<name>.sql``: a header, then one SELECT::

    -- What it answers, in a sentence or two.
    --
    -- computed: How; what is divided by what; whether a sum of intervals is a sum or a union.
    -- requires:
    --   kernel: no kernels were recorded.
    -- none: what is said where there is no row, though there are inputs.
    -- materialized: Why its rows are computed once for a trace.
    -- rare: The same, of what many traces have none of: nothing that reads it is begun before.
    -- native: How plain DuckDB, which runs the SELECT, differs from an opened trace.
    -- opened: Why it can be asked of an opened trace, and not of ``trace.duckdb``.
    -- limits: What it cannot see.
    -- front: The question that it answers, where people ask it as it stands?
    -- first: Columns that answer the question, the most important first.
    -- label: name = kernel(demangled)
    -- chart: bars(name, total_ns)
    -- example: cupti-etl query NAME TRACE --param min_ns=1000
    -- alias: Names that other tools have for it, with commas between.
    -- renamed: Names that it had in the release before.
    -- scope: start_ns to end_ns, gap_ns
    -- lookup: Of what it needs, what is read whole in a scope.
    -- approximate: Columns that are estimated where partial answers are merged.
    -- shared: Of what it needs, what workers are given, as the rows of one depend on others'.
    -- gathered: Of what it needs, what workers compute; the rest is computed of all their rows.
    -- finding: what takes time that could be saved (measured)
    -- advice: what to do about it
    -- shown: The query that shows it, and options of its command.
    -- parameters:
    --   min_ns BIGINT = 1000 [ns]: Shortest gap that is listed.
    -- columns:
    --   device.*
    --   busy_ns BIGINT [ns]: Time with at least one activity.
    SELECT ...;

    -- partial
    SELECT ...;

    -- merge
    SELECT ... FROM partial ...

A query with a ``merge`` can be computed by several workers: each asks some of the processes what
``partial`` says, or else the query itself; ``merge`` makes the answer of all their rows, which
it finds in the table ``partial`` (see ``engines/``).  What is ``shared`` is asked of all workers
before: tables with a key, and queries that have a ``merge`` themselves.  A query without a
``merge`` can have something ``gathered``: queries that have one, and are of the whole trace.
What a query needs are the tables and queries that stand behind FROM or JOIN in its SELECT;
``requires`` lists those of them, however far down, or what is computed sooner, without a row of
which the answer is empty, and the reason to give (an opened trace runs no SELECT then), or their
names alone where it is the usual one (see ``fields``).
``device.*`` stands for all columns of a table or query, and for some of them ``start_ns, end_ns of
kernel``; those of a ``finding`` need not be said. ``label`` names a column of names, and what tells
two of them apart: ``kernel``, ``kernels`` (one after the other), ``copy``, ``range``, ``operator``
or ``process`` of columns (see ``render/labels.py``); it stands last, unless
``first`` has it before others. ``chart`` is one of ``bars``, ``lines`` and ``flame`` of two columns
(``flame``: of paths, with ";" between their parts; ``bars(place, samples, by reason)``: the rows of
a place are the parts of its bar). The ``example`` of a front query is the plain one, unless it says
another.
``scope`` says how rows are chosen where part of a trace is asked: by the time in a column, by the
part of a time between two that lies within (and the column of its length), either of them times of
the ``host`` if that stands before it, or ``whole`` for all rows; the query is computed over the
whole trace then. Without it, or where that is ``steady``
(which asks the steady state where nobody asks for something else), it reads what is chosen of
what it needs, but for what it says it has to ``lookup`` (see ``queries/scope.py``).  A
``finding`` has a row for each GPU, or one for all, with the columns gpu, saved_ns and culprit, and
kernel where what it says of the culprit ends with a kernel, which has a ``label`` then; it is
measured or estimated, and ``shown`` in full by another query.  A query whose name begins with
``_`` is a building block of others, and may change from one release to the next.  Text goes on in
lines that are indented further.  A query without parameters becomes a view, one with parameters a
table macro. What is ``native`` is computed by ``cupti_etl.pm.attribution`` in an opened trace.
Reading the library needs neither duckdb nor pyarrow.
"""

from __future__ import annotations

import re
from typing import Any

from cupti_etl.errors import SchemaError
from cupti_etl.queries.fields import Others, columns, field, finding_columns, reasons
from cupti_etl.queries.header_checks import complain
from cupti_etl.queries.query import Chart, Label, Query, Saving

# What each key has: a text, names, or a list; the others are read by functions of their own.
_TEXTS = (
    "computed", "none", "materialized", "rare", "native", "opened", "limits", "front", "example",
    "scope",
)  # fmt: skip
_NAMES = ("first", "alias", "renamed", "lookup", "approximate", "shared", "gathered")
_LISTS = ("requires", "parameters", "columns")
_KEYS = (*_TEXTS, *_NAMES, *_LISTS, "label", "chart", "finding", "advice", "shown")
_KEY = re.compile(rf"({'|'.join(_KEYS)}):(?: (.*))?\Z")
_LABEL = re.compile(r"(\w+) = (kernel|kernels|copy|range|operator|process)\((\w+(?:, \w+)*)\)\Z")
_CHART = re.compile(r"(?:bars|(?P<other>lines|flame))\((\w+), (\w+)(?(other)|(?:, by (\w+))?)\)\Z")
_FINDING = re.compile(r"(.+) \((measured|estimated)\)\Z")
_NO_SQL = re.compile(r"--[^\n]*|'[^']*'")
# It begins with a word, for which the library is searched faster than for where one begins.
_READ = re.compile(r"(?:FROM|JOIN)(?<!\w.{4})(?<!DISTINCT FROM)\s+(\w+)\b(?!\.)")
_NAMED = re.compile(
    r"^ *(?:WITH (?:RECURSIVE )?)?(\w+) (?:USING KEY \(\w+\) )?AS (?:(?:NOT )?MATERIALIZED )?\(",
    re.MULTILINE,
)
_STATEMENT = re.compile(r"^-- (partial|merge)\n", re.MULTILINE)


def parse(text: str, name: str, topic: str, others: Others = lambda _: None) -> Query:
    """Read one query.

    Args:
        text: its header and its statements.
        name: what it is called.
        topic: of which topic it is.
        others: the columns of another query, which it may say that it has, too.

    Raises:
        SchemaError: the header is not of the form above; the message says where.
    """
    lines = text.splitlines()
    body = next((at for at, line in enumerate(lines) if not line.startswith("--")), len(lines))
    sections = _sections(name, [line[2:] for line in lines[:body]])
    statements = _statements(name, "\n".join(lines[body:]))
    texts = {key: " ".join(section) for key, section in sections.items()}
    if texts["front"] and not texts["example"]:
        texts["example"] = f"cupti-etl query {name} TRACE"
    given: dict[str, Any] = {**statements, **{key: texts[key] for key in ("doc", *_TEXTS)}}
    given |= {key: _names(texts[key]) for key in _NAMES}
    given["materialized"] = texts["materialized"] or texts["rare"]
    query = Query(
        name=name,
        topic=topic,
        needs=reads(statements["sql"]),
        parameters=tuple(field(name, line) for line in sections["parameters"]),
        columns=tuple(
            finding_columns(name, has_kernel=bool(sections["label"]))
            if sections["finding"]
            else columns(name, sections["columns"], others)
        ),
        requires=tuple(reasons(name, sections["requires"])),
        label=_label(name, texts["label"]),
        chart=_chart(name, texts["chart"]),
        saving=_saving(name, texts["finding"], texts["advice"], texts["shown"]),
        **given,
    )
    complain(query)
    return query


def reads(sql: str) -> tuple[str, ...]:
    """The tables and queries that a SELECT reads, in the order in which it names them."""
    return tuple(dict.fromkeys(each_read(sql)))


def each_read(sql: str) -> list[str]:
    """As of ``reads``, as often as it names each."""
    text = _NO_SQL.sub("", sql)
    own = {*_NAMED.findall(text)}
    return [name for name in _READ.findall(text) if name not in own]


def _statements(name: str, text: str) -> dict[str, str]:
    """The SELECT, and those of a worker and of who merges."""
    first, *others = _STATEMENT.split(text)
    found = {"sql": first, "partial": "", "merge": ""}
    for key, statement in zip(others[::2], others[1::2], strict=True):
        if found[key]:
            raise SchemaError(f"query {name}: {key!r} stands twice")
        found[key] = statement
    return {key: statement.strip().rstrip(";") for key, statement in found.items()}


def _sections(name: str, lines: list[str]) -> dict[str, list[str]]:
    """Header lines by key; each item of a list is one string, however many lines it took."""
    sections: dict[str, list[str]] = {"doc": [], **{key: [] for key in _KEYS}}
    current, seen = "doc", {"doc"}
    for line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            continue
        key = _KEY.match(text)
        if indent <= 1 and key:
            current = key[1]
            if current in seen:
                raise SchemaError(f"query {name}: {current!r} stands twice")
            seen.add(current)
            if key[2]:
                sections[current].append(key[2])
        elif indent <= 1 and current != "doc":
            raise SchemaError(f"query {name}: {text!r} is neither a key nor indented")
        elif current in _LISTS and indent > 3:
            if not sections[current]:
                raise SchemaError(f"query {name}: {text!r} continues nothing")
            sections[current][-1] += " " + text
        else:
            sections[current].append(text)
    for key_ in ("doc", "computed", "columns"):
        # A finding has those of all findings.
        if not sections[key_] and not (key_ == "columns" and sections["finding"]):
            raise SchemaError(f"query {name}: the header has no {key_!r}")
    return sections


def _names(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _label(name: str, text: str) -> Label | None:
    found = _LABEL.match(text)
    if text and not found:
        raise SchemaError(f"query {name}: cannot read {text!r}", "write: name = kernel(demangled)")
    return Label(found[1], found[2], tuple(found[3].split(", "))) if found else None


def _chart(name: str, text: str) -> Chart | None:
    found = _CHART.match(text)
    if text and not found:
        raise SchemaError(f"query {name}: cannot read {text!r}", "write: bars(name, total_ns)")
    return Chart(found[1] or "bars", found[2], found[3], found[4] or "") if found else None


def _saving(name: str, text: str, advice: str, shown: str) -> Saving | None:
    found = _FINDING.match(text)
    if bool(found) != bool(text) or len({bool(text), bool(advice), bool(shown)}) > 1:
        raise SchemaError(
            f"query {name}: cannot read {text!r}",
            "write: finding: what takes the time (measured), and advice and shown",
        )
    return Saving(found[1], found[2], advice, *shown.split(" ", 1)) if found else None
