"""A trace over HTTP: tables and queries as Arrow, JSON and CSV, on this machine.

A request becomes a question (``asked``), which a thread answers from an opened trace (``current``);
the rows go out in chunks as they are computed (``channel``, ``answer``).  SQL that somebody sends
runs in a DuckDB of its own, after a look at what it is (``statement``).  Who is let in is decided
in one place (``guard``), and every refusal has the same form (``refusal``).
"""
