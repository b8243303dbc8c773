"""Compares what a program says that it launched with the rows of a trace.

The functions take a program's log (see ``cupti_etl.demo.launched``) and rows as tuples, and
return the differences as sentences; no difference, no sentence.  They know nothing of how
the rows were read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Log = Mapping[str, Any]

# The queries whose rows the functions take; {process} is a condition on process_id.
KERNEL_ROWS = """\
SELECT name, grid_x, stream_id, count(*)
FROM kernel WHERE coalesce(graph_id, graph_node_id) IS NULL AND {process} GROUP BY ALL"""
GRAPH_KERNEL_ROWS = """\
SELECT name, grid_x, count(*)
FROM kernel WHERE coalesce(graph_id, graph_node_id) IS NOT NULL AND {process} GROUP BY ALL"""
COPY_ROWS = """\
SELECT copy_kind, bytes, count(*) FROM memcpy WHERE {process} GROUP BY ALL"""
MEMSET_ROWS = "SELECT bytes, count(*) FROM memset WHERE {process} GROUP BY ALL"


def compare_kernels(log: Log, rows: Iterable[tuple[str, int, int, int]]) -> list[str]:
    """Launches outside graphs: counts per name and stream.

    Args:
        log: what the program says.
        rows: name, grid_x, stream_id, count; see ``KERNEL_ROWS``.
    """
    found: dict[tuple[str, int], dict[int, int]] = {}
    for name, grid, stream, count in rows:
        found.setdefault((name, grid), {})[stream] = count
    differences = []
    number_of: dict[str, int] = {}
    for entry in log["kernels"]:
        label = entry["stream"]
        streams = found.pop((entry["name"], entry["grid_x"]), {})
        what = f"kernel {entry['name']} in stream {label}"
        if sum(streams.values()) != entry["count"]:
            differences.append(
                f"{what}: {entry['count']} launched, {sum(streams.values())} recorded"
            )
        elif len(streams) > 1:
            differences.append(f"{what}: recorded in {len(streams)} streams, {sorted(streams)}")
        else:
            stream = next(iter(streams))
            if number_of.setdefault(label, stream) != stream:
                differences.append(f"{what}: recorded in stream {stream}, not {number_of[label]}")
    shared = [number for number, uses in Counter(number_of.values()).items() if uses > 1]
    differences += [f"several streams of the program are recorded as stream {n}" for n in shared]
    if log["complete"]:
        differences += [
            f"kernel {name} with a grid of {grid}: never launched, {sum(counts.values())} recorded"
            for (name, grid), counts in sorted(found.items(), key=repr)
        ]
    return differences


def compare_graph_kernels(log: Log, rows: Iterable[tuple[str, int, int]]) -> list[str]:
    """Kernels that graph replays ran: counts per name; rows are name, grid_x, count."""
    expected = {(k["name"], k["grid_x"]): k["count"] for k in log["graph_kernels"]}
    return _compare_counts(
        "kernel {} of a graph, with a grid of {}", log, expected, {(n, g): c for n, g, c in rows}
    )


def compare_copies(log: Log, rows: Iterable[tuple[str, int, int]]) -> list[str]:
    """Copies: counts per direction and size; rows are copy_kind, bytes, count."""
    expected = {(c["kind"], c["bytes"]): c["count"] for c in log["copies"]}
    found = {(kind, size): count for kind, size, count in rows}
    return _compare_counts("{} copy of {} bytes", log, expected, found)


def compare_memsets(log: Log, rows: Iterable[tuple[int, int]]) -> list[str]:
    """Sets: counts per size; rows are bytes, count."""
    expected = {(m["bytes"],): m["count"] for m in log["memsets"]}
    return _compare_counts(
        "set of {} bytes", log, expected, {(size,): count for size, count in rows}
    )


def _compare_counts(
    what: str, log: Log, expected: Mapping[Any, int], found: Mapping[Any, int]
) -> list[str]:
    keys = set(expected) | set(found) if log["complete"] else set(expected)
    return [
        f"{what.format(*key)}: {expected.get(key, 0)} asked for, {found.get(key, 0)} recorded"
        for key in sorted(keys, key=repr)
        if expected.get(key, 0) != found.get(key, 0)
    ]
