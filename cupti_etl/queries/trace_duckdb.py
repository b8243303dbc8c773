"""``trace.duckdb``: the tables and queries of a trace for a plain DuckDB shell.

It is a convenience that can be made again at any time; nothing of cupti-etl opens it.
"""

from __future__ import annotations

import os
from pathlib import Path

from cupti_etl.errors import TraceError
from cupti_etl.storage.place import unfinished
from cupti_etl.storage.sources import Folder, check_folder, identifier, quoted

NAME = "trace.duckdb"


def write_trace_duckdb(folder: str | os.PathLike[str]) -> Path:
    """Write the file into a trace's folder, in one step, and return its path.

    The views hold absolute paths: after the folder has moved, write it again.  In a copy of the
    folder they say so.

    Raises:
        TraceError: the folder is not a trace or has a damaged part, or the file cannot be
            written.
    """
    import duckdb

    from cupti_etl.queries.failure import translate

    given = Path(folder)
    home = given.absolute()
    target = home / NAME
    check_folder(given, home)
    with unfinished(target) as partial:
        try:
            _write(partial, Folder(home), _is_here(target))
            partial.replace(target)
        except duckdb.Error as error:
            failure = translate(error, (home,))
            # The statements are our own: what is not a part's fault is the file's.
            if str(partial) in str(error) or not isinstance(failure, TraceError):
                raise _not_written(target, str(error)) from error
            raise failure from error
        except OSError as error:
            raise _not_written(target, error.strerror or str(error)) from error
    return target


def _write(file: Path, folder: Folder, condition: str) -> None:
    from cupti_etl.queries.runner import bound_library, install
    from cupti_etl.schema.revisions import STORAGE_VERSION

    # Of a name of its own: other threads may write other files.
    name = identifier(file.name)
    try:
        con = bound_library().cursor()
        con.execute(f"ATTACH {quoted(file)} AS {name} (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute(f"USE {name}")
        install(con, file.name, (folder,), condition)
        con.execute("USE memory")
        con.execute(f"DETACH {name}")
    except BaseException:
        bound_library.cache_clear()  # the file is still in it
        raise


def _is_here(target: Path) -> str:
    """An expression that fails in a copy of the file: its views would read the first trace.

    It is asked once a table, and filters pass by it down to the parts.
    """
    # DuckDB tells paths without links.
    path = Path(os.path.realpath(target.parent), target.name)
    message = (
        f"this trace.duckdb reads the trace in {path.parent}, of which it is a copy:"
        " run `cupti-etl relink` on the folder that it is in"
    )
    return (
        f"(SELECT CASE WHEN bool_or(path = {quoted(path)}) THEN true"
        f" ELSE error({quoted(message)}) END FROM duckdb_databases())"
    )


def _not_written(target: Path, why: str) -> TraceError:
    return TraceError(
        f"cannot write {target}: {why.splitlines()[0]}",
        "check the permissions and the free space of the folder",
    )
