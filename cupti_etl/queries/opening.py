"""What is looked up in the sources of a trace before anything is asked of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.errors import TraceError, UsageError
from cupti_etl.queries.tables import of_paths
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.storage import manifest
from cupti_etl.storage.sources import Folder, Source, quoted
from cupti_etl.storage.state import state, state_bytes
from cupti_etl.units import size_bytes

if TYPE_CHECKING:
    import duckdb

# Some 200,000 rows: more threads would wait for one another longer than they work.
_ONE_THREAD_BYTES = 2 << 20
# On a machine with many processors, all of them would answer of 10 million kernels no sooner than
# a few do, and each takes memory for what it reads.
_FEW_THREADS, _THREAD_BYTES = 8, 8 << 20
_LOOKED_THROUGH = 16
# Threads that sort or join at once need room each: four failed with 60 MB.
_MEMORY_BYTES = 32 << 20


def threads_of(paths: Sequence[Path], memory: str | None = None) -> Mapping[str, str]:
    """The setting of DuckDB for as many threads as a trace is worth, and as have room.

    Nothing for all that DuckDB starts by itself.

    Args:
        paths: of the trace.
        memory: the limit, if there is one.
    """
    processors = os.cpu_count() or 1
    most = processors
    if memory:
        with suppress(UsageError):  # DuckDB says what is wrong with it, or knows what it means
            most = max(size_bytes(memory) // _MEMORY_BYTES, 1)
    few = min(_worth(paths, processors), most)
    return {"threads": str(few)} if few < processors else {}


def _worth(paths: Sequence[Path], processors: int) -> int:
    """How many threads the parts of a trace together are worth.

    All for files and buckets, which say less of their rows.
    """
    total = 0
    # Of a thousand ranks not all are looked through.
    looked_at = paths[:_LOOKED_THROUGH]
    for path in looked_at:
        if not path.is_dir() or total >= processors * _THREAD_BYTES:
            return processors
        total += state_bytes(state([Folder(path)]))
    total = total * len(paths) // len(looked_at)
    return 1 if total < _ONE_THREAD_BYTES else max(_FEW_THREADS, total // _THREAD_BYTES)


def check_version(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """See that no part is of a newer schema.

    Raises:
        TraceError: one is.
        duckdb.Error: a part cannot be read.
    """
    folders = [source for source in sources if isinstance(source, Folder)]
    patterns = [each for folder in folders for each in _filled(folder)]
    if not patterns:
        return
    newest = con.sql(
        "SELECT file_name, decode(value) AS version"
        f" FROM parquet_kv_metadata([{', '.join(map(quoted, patterns))}])"
        " WHERE decode(key) = 'cupti_etl.schema_version'"
        f" AND try_cast(decode(value) AS INTEGER) > {SCHEMA_VERSION} LIMIT 1"
    ).fetchall()
    for part, version in newest:
        raise TraceError(
            f"{part} has table layout {version}; this cupti-etl knows {SCHEMA_VERSION}",
            "open it with the version of cupti-etl that wrote it, or a newer one",
        )


def in_order(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources by the start of their captures.

    Raises:
        UsageError: a capture is in two of them.
        duckdb.Error: a part cannot be read.
    """
    by_path = {str(source.path): source for source in sources}
    started = dict.fromkeys(sources, 0)
    held: dict[int, Source] = {}
    rows = of_paths(sources, "capture")
    found = con.sql(f"SELECT path, capture_id, start_ns FROM ({rows})").fetchall() if rows else ()
    for path, capture_id, start_ns in found:
        source = by_path[path]
        started[source] = max(started[source], start_ns or 0)
        if held.setdefault(capture_id, source) is not source and capture_id is not None:
            raise UsageError(
                f"{held[capture_id].path} and {source.path} hold the same capture",
                "every row would be there twice: give one of them",
            )
    return tuple(sorted(sources, key=lambda source: started[source]))


def _filled(folder: Folder) -> Iterator[str]:
    """Globs of the parts of those tables that the manifest does not say to have no row.

    That is most tables: of a thousand ranks, their footers take longer than many an answer.
    """
    named = manifest.read(folder.path) or {}
    for table in TABLES:
        parts = named.get(table, {})
        names = folder.names(table)
        if not names or any(name not in parts or parts[name].rows for name in names):
            yield from folder.globs(table)
