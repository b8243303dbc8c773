"""``trace.duckdb``: the tables and queries of a trace for a plain DuckDB shell.

It is a convenience that can be made again at any time; nothing of cupti-etl opens it.
"""

from __future__ import annotations

import os
from pathlib import Path

from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.place import not_written, unfinished
from cupti_etl.storage.sources import Folder, check_folder, identifier, quoted

NAME = "trace.duckdb"
_NOT_KNOWN = "Not known to this version of cupti-etl."


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
                raise not_written(target, str(error)) from error
            raise failure from error
        except OSError as error:
            raise not_written(target, error) from error
    return target


def _write(file: Path, folder: Folder, condition: str) -> None:
    from cupti_etl.queries.bound_library import copy_library, new_file
    from cupti_etl.queries.plausible import plausible_tables
    from cupti_etl.queries.tables import check_types, create_table_view, found_tables

    with new_file(file) as con:
        copy_library(con)
        con.begin()
        for table, rows in plausible_tables(con, (folder,), found_tables((folder,))):
            if rows:
                con.execute(create_table_view(table, rows, condition))
            doc = TABLES[table].doc if table in TABLES else _NOT_KNOWN
            con.execute(f"COMMENT ON VIEW {identifier(table)} IS {quoted(doc)}")
        check_types(con, TABLES)
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
