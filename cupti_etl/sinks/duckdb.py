"""``trace.duckdb``: the tables and queries of a trace for a plain DuckDB shell.

It is a convenience that can be made again at any time; nothing of cupti-etl opens it.
"""

from __future__ import annotations

import os
from pathlib import Path

from cupti_etl.errors import TraceError

NAME = "trace.duckdb"
# The oldest DuckDB that is supported must be able to open it.
_STORAGE = "v1.5.0"


def write_trace_duckdb(folder: str | os.PathLike[str]) -> Path:
    """Write the file into a trace's folder, in one step, and return its path.

    The views hold absolute paths: after the folder has moved, write it again.

    Raises:
        TraceError: the folder is not a trace or has a damaged part, or the file cannot be
            written.
    """
    import duckdb

    from cupti_etl.queries.failure import translate
    from cupti_etl.queries.runner import connect, install
    from cupti_etl.queries.sources import Folder, check_folder, quoted

    given = Path(folder)
    home = given.absolute()
    check_folder(given, home)
    target = home / NAME
    partial = home / f".{NAME}.{os.getpid()}"
    try:
        con = connect()
        try:
            con.execute(f"ATTACH {quoted(partial)} AS made (STORAGE_VERSION '{_STORAGE}')")
            con.execute("USE made")
            install(con, (Folder(home),))
            con.execute("USE memory")
            con.execute("DETACH made")
        finally:
            con.close()
        partial.replace(target)
    except duckdb.Error as error:
        failure = translate(error, (home,))
        # The statements are our own: what is not a part's fault is the file's.
        if str(partial) in str(error) or not isinstance(failure, TraceError):
            raise _not_written(target, str(error)) from error
        raise failure from error
    except OSError as error:
        raise _not_written(target, error.strerror or str(error)) from error
    finally:
        for leftover in (partial, partial.with_name(f"{partial.name}.wal")):
            leftover.unlink(missing_ok=True)
    return target


def _not_written(target: Path, why: str) -> TraceError:
    return TraceError(
        f"cannot write {target}: {why.splitlines()[0]}",
        "check the permissions and the free space of the folder",
    )
