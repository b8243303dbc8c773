"""``trace.duckdb``: the tables and queries of a trace for a plain DuckDB shell.

It is a convenience that can be made again at any time; nothing of cupti-etl opens it.
"""

from __future__ import annotations

import os
from pathlib import Path

from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage import manifest
from cupti_etl.storage.place import not_written, unfinished
from cupti_etl.storage.sources import Folder, check_folder, quoted

NAME = "trace.duckdb"


def write_trace_duckdb(folder: str | os.PathLike[str], *, is_complete: bool = False) -> Path:
    """Write the file into a trace's folder, in one step, and return its path.

    The views hold absolute paths: after the folder has moved, write it again.  In a copy of the
    folder they say so.

    Args:
        folder: of the trace.
        is_complete: whether nothing is added to it any more; the views of tables without rows look
            for no parts then.

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
            _write(partial, Folder(home), _is_here(target), is_complete=is_complete)
            partial.replace(target)
        except duckdb.Error as error:
            failure = translate(error, (home,))
            if isinstance(failure, TraceError) and str(partial) not in str(error):
                raise failure from error
            # The statements are our own: what is not a part's fault is the file's or theirs.
            if isinstance(error, (duckdb.ProgrammingError, duckdb.InternalError)):
                todo = "this is a fault of cupti-etl: please report it"
                raise not_written(target, str(error), todo) from error
            raise not_written(target, str(error)) from error
        except OSError as error:
            raise not_written(target, error) from error
    return target


def _write(file: Path, folder: Folder, condition: str, *, is_complete: bool) -> None:
    from cupti_etl.queries.bound_library import copy_library, new_file
    from cupti_etl.queries.plausible import plausible_tables
    from cupti_etl.queries.tables import (
        check_types,
        create_table_view,
        describe_table,
        found_tables,
    )

    named = (manifest.read(folder.path) or {}) if is_complete else {}
    # Of a table without rows there is an empty view already.
    empty = {
        table
        for table in TABLES.keys() & named.keys()
        if not any(part.rows for part in named[table].values())
    }
    others = [table for table in found_tables((folder,)) if table not in empty]
    with new_file(file) as con:
        copy_library(con)
        con.begin()
        found = [each for each in plausible_tables(con, (folder,), others) if each[1]]
        for table, rows, _ in found:
            con.execute(create_table_view(table, rows, condition))
            con.execute(describe_table(table))
        check_types(con, [table for table, *_ in found])
        con.commit()


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
