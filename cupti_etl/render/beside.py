"""A DuckDB beside that of a trace: it writes, and what reads the trace does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.errors import EtlError
from cupti_etl.queries.failure import translate
from cupti_etl.queries.runner import connect

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from cupti_etl.api import Trace

# What rows are called there.
ROWS = "_rows"
# What a person allows a trace to take is meant for all that is made of it.
_LIMITS = ("memory_limit", "threads")


@contextmanager
def beside(
    trace: Trace, reach: Iterable[Path], settings: Mapping[str, str] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reaches some files, and the trace by ``feed`` alone.

    Args:
        trace: whose limits of memory and threads it has.
        reach: files and folders that it can write.
        settings: more of DuckDB's.

    Raises:
        EtlError: a statement failed, or the reading of rows that it was given.
    """
    import duckdb
    import pyarrow as pa

    values = ", ".join(f"current_setting('{name}') AS {name}" for name in _LIMITS)
    (limits,) = trace.sql(f"SELECT {values}")
    words = {name: str(value) for name, value in limits.items()}
    with connect(reach, {**words, **(settings or {})}) as con:
        try:
            yield con
        except RuntimeError as error:
            # That is how DuckDB passes on the Ctrl-C that it noticed.
            raise (KeyboardInterrupt if str(error) == "Query interrupted" else error) from error
        except (duckdb.Error, pa.ArrowException) as error:
            raise translate(error, ()) from error


@contextmanager
def feed(con: duckdb.DuckDBPyConnection, rows: pa.RecordBatchReader) -> Iterator[None]:
    """Let statements read rows, once, as the table ``ROWS``.

    Raises:
        EtlError: the rows cannot be read; DuckDB would say that in words of its own.
    """
    import duckdb
    import pyarrow as pa

    failed: list[EtlError] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from rows
        except EtlError as error:
            failed.append(error)
            raise

    con.register(ROWS, pa.RecordBatchReader.from_batches(rows.schema, watched()))
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise (failed[0] if failed else error) from error
    con.unregister(ROWS)
