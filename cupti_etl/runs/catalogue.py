"""A row of each run, in a Parquet file beside the traces: only what is new is opened again."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.api import open as open_trace
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library
from cupti_etl.runs.find import Run, find
from cupti_etl.storage import disk
from cupti_etl.storage.bucket import Url, put, readable

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "runs.parquet"
_QUERY = "_run"
# Of a run, so many kernels are kept: those that took the most time.
_KERNELS = 100
_VERDICT = "SELECT subject FROM capture_health WHERE section = 'verdict'"
_LONGEST = f"""
    SELECT name, demangled, calls, total_ns FROM kernel_summary
    WHERE calls > 0 ORDER BY total_ns DESC, demangled LIMIT {_KERNELS}"""
_MADE_BY = b"cupti_etl.runs"


def catalogue(
    home: Path, tell: Callable[[int, int, str], None] = lambda done, of, name: None
) -> tuple[pa.Table, str]:
    """A row of each trace below a folder.

    Args:
        home: the folder, or a place in a bucket.
        tell: is called before a trace is opened: how many were, of how many, and its name.

    Returns:
        The rows, by the beginning of the runs (see ``schema``), and why they could not be kept in
        the folder; "" if they were.

    Raises:
        TraceError: there is no such folder.
    """
    import pyarrow as pa

    runs = find(home)
    known = {(row["run"], row["digest"]): row for row in _kept(home)}
    new = [run for run in runs if (run.name, run.digest) not in known]
    for done, run in enumerate(new):
        tell(done, len(new), run.name)
        known[run.name, run.digest] = _row(run)
    rows = [known[run.name, run.digest] for run in runs]
    rows.sort(key=lambda row: (row["start_ns"] or 0, row["run"]))
    table = pa.Table.from_pylist(rows, schema=schema())
    is_other = new or len(rows) != len(known)
    is_one = [run.path for run in runs] == [home]
    return table, _keep(home, table) if is_other and not is_one else ""


@cache
def schema() -> pa.Schema:
    """The columns of a row; as metadata, what made it."""
    import pyarrow as pa

    types = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "INTEGER": pa.int32()}
    kernel = pa.struct(
        {
            "name": pa.string(),
            "demangled": pa.string(),
            "calls": pa.int64(),
            "total_ns": pa.int64(),
        }
    )
    fields = [
        pa.field("run", pa.string()),
        pa.field("digest", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("verdict", pa.string()),
        pa.field("problem", pa.string()),
        *(
            pa.field(each.name, types.get(each.type, pa.float64()))
            for each in library()[_QUERY].columns
        ),
        pa.field("top_kernels", pa.list_(kernel)),
    ]
    code = hashlib.sha256((library()[_QUERY].sql + _LONGEST).encode()).hexdigest()[:16]
    return pa.schema(fields, {_MADE_BY: code.encode()})


def _row(run: Run) -> dict[str, Any]:
    about = {
        **dict.fromkeys(schema().names),
        **{"run": run.name, "digest": run.digest, "bytes": run.bytes},
    }
    try:
        with open_trace(run.path) as trace:
            (row,) = trace.query(_QUERY)
            (health,) = trace.sql(_VERDICT)
            kernels = list(trace.sql(_LONGEST))
    except EtlError as error:
        # Among many, one that cannot be read is a row like the others.
        return {**about, "verdict": "cannot be read", "problem": error.message}
    return {**about, **row, "verdict": health["subject"], "top_kernels": kernels}


def _kept(home: Path) -> Sequence[dict[str, Any]]:
    """The rows that were kept, if this version made them; what is damaged is made again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(readable(home / NAME), partitioning=None)
    except (OSError, pa.ArrowException):
        return ()
    if not table.schema.equals(schema(), check_metadata=False):
        return ()
    if (table.schema.metadata or {}).get(_MADE_BY) != (schema().metadata or {})[_MADE_BY]:
        return ()
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _keep(home: Path, table: pa.Table) -> str:
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    temporary = home / f".{NAME}.tmp"
    try:
        if isinstance(home, Url):
            put(home / NAME, content.getvalue())
        else:
            disk.write(temporary, content.getvalue())
            disk.rename(temporary, home / NAME)
    except OSError as error:
        if not isinstance(home, Url):
            with contextlib.suppress(OSError):
                temporary.unlink()
        return error.strerror or str(error)
    return ""
