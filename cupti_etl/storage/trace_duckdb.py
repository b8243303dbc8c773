"""``trace.duckdb``: the tables and queries of a trace for a plain DuckDB shell.

It is a convenience that can be made again at any time; nothing of cupti-etl opens it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from cupti_etl.errors import TraceError

NAME = "trace.duckdb"


def _parts_are_there() -> None:
    """The parts are there."""


def write_trace_duckdb(
    folder: str | os.PathLike[str], wait_for_parts: Callable[[], object] = _parts_are_there
) -> Path:
    """Write the file into a trace's folder, in one step, and return its path.

    The views hold absolute paths: after the folder has moved, write it again.
    ``wait_for_parts`` is called when all is done that needs none.

    Raises:
        TraceError: the folder is not a trace or has a damaged part, or the file cannot be
            written.
    """
    import duckdb

    from cupti_etl.queries.failure import translate
    from cupti_etl.queries.runner import connect, install
    from cupti_etl.schema.revisions import STORAGE_VERSION
    from cupti_etl.storage.sources import Folder, check_folder, quoted

    given = Path(folder)
    home = given.absolute()
    target = home / NAME
    partial = home / f".{NAME}.{os.getpid()}"

    def look() -> None:
        wait_for_parts()
        check_folder(given, home)

    if wait_for_parts is _parts_are_there:
        check_folder(given, home)
    try:
        con = connect()
        try:
            con.execute(f"ATTACH {quoted(partial)} AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
            con.execute("USE made")
            install(con, (Folder(home),), before_tables=look)
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


class TraceDuckdb(threading.Thread):
    """Writes the file while the program runs, as soon as the tables are there.

    Its views name tables and where their parts are; what the parts hold does not matter.
    Starting DuckDB takes longer than everything else at the end of a short capture, so it
    is done beside it, and again only if there are other tables then.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(name="cupti-etl-trace-duckdb", daemon=True)
        self._folder = folder.absolute()
        self._is_there = threading.Event()
        self._made_of: set[str] | None = None

    def folder_is_there(self) -> None:
        """Every table of the capture has its first part."""
        self._is_there.set()

    def run(self) -> None:
        """Write the file; why it cannot be written, ``finish`` will find out again."""
        made_of: set[str] = set()

        def wait() -> None:
            self._is_there.wait()
            made_of.update(self._tables())

        with contextlib.suppress(Exception):
            write_trace_duckdb(self._folder, wait)
            self._made_of = made_of

    def _tables(self) -> set[str]:
        return {part.parent.name for part in self._folder.glob("*/part-*.parquet")}

    def end(self) -> None:
        """Let the thread end, also when the folder never came to be."""
        self._is_there.set()
        self.join()

    def finish(self) -> None:
        """See that the file is there and is about the tables that there are by now.

        Raises:
            TraceError: it cannot be written.
        """
        self.end()
        if self._made_of is None or self._made_of != self._tables():
            write_trace_duckdb(self._folder)


def _not_written(target: Path, why: str) -> TraceError:
    return TraceError(
        f"cannot write {target}: {why.splitlines()[0]}",
        "check the permissions and the free space of the folder",
    )
