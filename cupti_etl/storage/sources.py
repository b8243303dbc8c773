"""What a trace is opened from: folders of Parquet parts, and self-contained .duckdb files."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.errors import TraceError, UsageError, why
from cupti_etl.schema import revisions
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.spec import NAME
from cupti_etl.storage.bucket import ORIGIN, Url, as_path, look
from cupti_etl.storage.flights import is_flight_folder, traces_in
from cupti_etl.units import counted

if TYPE_CHECKING:
    import duckdb

# Names that a writer uses for what is not finished do not match.
PARTS = "part-*.parquet"
_PART = re.compile(r"part-.*\.parquet")
_GIVE = "give the folder that capture or import wrote, or a .duckdb file that export did"
_MOVE = "move it away to read the rest of the trace"
_PERMIT = "whoever owns it can let you: chmod -R a+rX"
_MAGIC = b"DUCK"


@dataclass(frozen=True)
class Folder:
    """The folder of a capture; parts may come and be exchanged while it is open.

    Attributes:
        path: where it is.
        only: of some tables, the names of those parts that are read.
    """

    path: Path
    only: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)

    def tables(self) -> set[str]:
        """The sub-folders that hold parts."""
        return {
            entry.name
            for entry in _entries(self.path)
            if NAME.match(entry.name) and self.names(entry.name)
        }

    def names(self, table: str) -> Sequence[str]:
        """What the parts of a table that are read are called."""
        chosen = self.only.get(table)
        if chosen is None:
            chosen = [entry.name for entry in part_files(self.path / table)]
        return chosen

    def parts(self, table: str) -> Iterator[Path]:
        """The parts of a table that are read."""
        return map((self.path / table).joinpath, self.names(table))

    def globs(self, table: str) -> list[str]:
        """The glob of a table's parts, if it has any."""
        if isinstance(self.path, Url):
            return list(map(str, self.parts(table)))
        if table in self.only:
            return list(map(as_glob, self.parts(table)))
        # Where a folder cannot be exchanged in one step it is aside for a moment.
        if self.names(table) or (self.path / f".{table}.aside").is_dir():
            return [f"{as_glob(self.path / table)}/{PARTS}"]
        return []


@dataclass(frozen=True)
class File:
    """A self-contained file, attached for reading under the name ``database``.

    ``renamed`` has the present names of each table's columns by those in the file, as far as they
    differ: in a file that was not migrated.
    """

    path: Path
    database: str
    names: frozenset[str]
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False)

    def tables(self) -> set[str]:
        """Those of its tables that the schema has."""
        return set(self.names)


Source = Folder | File
Given = str | os.PathLike[str]


def part_files(folder: str | Path) -> list[os.DirEntry[str]]:
    """The files in a folder that are called as parts are; none where it cannot be read."""
    return [entry for entry in _entries(folder) if _PART.fullmatch(entry.name)]


def all_part_files(path: Path) -> Iterator[os.DirEntry[str]]:
    """The parts of all folders in one, whatever these are called; it is asked of each statement."""
    for folder in sub_folders(path):
        yield from part_files(folder)


def sub_folders(path: str | Path) -> list[str]:
    """The folders in one; none where it cannot be read."""
    return [entry.path for entry in _entries(path) if entry.is_dir()]


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    if isinstance(folder, Url):
        return list(folder.iterdir())
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def quoted(text: str | Path) -> str:
    """A string literal of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name of a table or a column, as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'


def as_glob(folder: str | Path) -> str:
    """The path as a glob that matches it and nothing else."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(folder))


def globs(folders: Iterable[Folder], table: str) -> list[str]:
    """The glob of a table's parts in each folder that has any."""
    return [glob for folder in folders for glob in folder.globs(table)]


def expand(given: Iterable[Given | Iterable[Given]]) -> Iterator[Path]:
    """The paths that are meant: one each, or several by a list or a pattern such as ``run-*``.

    Raises:
        TraceError: a pattern matches nothing.
        UsageError: there is no path at all.
    """
    count = 0
    for each in given:
        if isinstance(each, (str, os.PathLike)):
            found = [one for path in _matches(as_path(each)) for one in _captures(path)]
        else:
            found = list(expand(each))
        count += len(found)
        yield from found
    if not count:
        raise UsageError("which trace?", _GIVE)


def _captures(path: Path) -> list[Path]:
    """The path; or, if many hosts wrote there, what each of their captures did."""
    if isinstance(path, Url):
        look(path)
    if not path.is_dir():
        return [path]
    check_readable(path)
    if _has_parts(path):
        return [path]
    there = (path / entry.name for entry in _entries(path))
    return sorted(filter(is_of_host, there)) or [path]


def is_of_host(folder: Path | Url) -> bool:
    """Whether it is what one of many hosts wrote; what may not be looked into is not."""
    with contextlib.suppress(PermissionError):
        return (folder / ORIGIN).is_file()
    return False


def check_readable(folder: Path | Url) -> None:
    """See that a folder can be looked into: else nothing would seem to be in it.

    Raises:
        TraceError: it cannot.
    """
    if not isinstance(folder, Url) and not os.access(folder, os.R_OK | os.X_OK):
        raise TraceError(f"{folder} cannot be read: {os.strerror(errno.EACCES)}", _PERMIT)


def _matches(path: Path) -> list[Path]:
    # A folder may really be called so.
    if isinstance(path, Url) or path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(path)))  # noqa: PTH207 - may be absolute
    if not found:
        raise TraceError(f"no trace matches {path}", _GIVE)
    return found


def open_sources(con: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> tuple[Source, ...]:
    """See that each path is a trace, and attach those that are files.

    Raises:
        TraceError: one is not, or is newer than this cupti-etl; the message says which.
        UsageError: one is given twice.
    """
    sources: dict[Path, Source] = {}
    for path in paths:
        # Absolute, so that a later chdir does not move the views.
        place = path.absolute()
        if place in sources:
            raise UsageError(f"{path} is given twice", "every row would be there twice")
        if place.is_file() and _is_duckdb(place):
            sources[place] = _attach(con, path, place, f"_file{len(sources)}")
        else:
            check_folder(path, place)
            sources[place] = Folder(place)
    return tuple(sources.values())


def _no_folder(path: Path, file: Path) -> TraceError:
    """Why a file that is no database is not a trace."""
    if not file.is_file():
        return TraceError(f"{path} is neither a folder nor a file", _GIVE)
    if not file.stat().st_size or file.suffix == ".duckdb":
        what = "is damaged" if file.stat().st_size else "is empty"
        return TraceError(f"{path} {what}", "export it again, or copy it again completely")
    return TraceError(
        f"{path} is a file, not a trace", f"make one of it: cupti-etl import {path} -o TRACE"
    )


def _has_parts(folder: Path) -> bool:
    return any(Folder(folder).globs(table) for table in TABLES)


def check_folder(path: Path, folder: Path) -> None:
    """See that a folder is a trace; ``path`` is how the user wrote it.

    Raises:
        TraceError: it is not; the message says what it is instead.
    """
    if not folder.exists():
        raise TraceError(f"there is no trace {path}", _GIVE)
    if not folder.is_dir():
        raise _no_folder(path, folder)
    if is_flight_folder(folder):
        made = traces_in(folder)
        raise TraceError(
            f"{path} is of a flight recorder, and holds {counted(len(made), 'trace')}",
            f"open one of them: {path / made[-1].name}" if made else "no trigger has fired yet",
        )
    if not _has_parts(folder):
        # In a bucket, to look would take a request for each table.
        here = [] if isinstance(folder, Url) else _entries(folder)
        inside = sorted(each.name for each in here if _has_parts(folder / each.name))
        if inside:
            raise TraceError(
                f"{path} is not a trace, but holds {counted(len(inside), 'trace')}",
                f"give one or more of them, such as {path / inside[0]};"
                f" cupti-etl runs {path} lists them",
            )
        raise TraceError(f"{path} is not a trace: it holds no {PARTS} of any table", _GIVE)
    for entry in _entries(folder):
        if not entry.is_dir():
            continue
        if entry.name in TABLES:
            check_readable(path / entry.name)
        for part in part_files(entry.path):
            _check_part(folder, part, is_linked=entry.is_symlink())


def _check_part(folder: Path, entry: os.DirEntry[str], *, is_linked: bool) -> None:
    """See that a part is a file of the trace: a folder that was sent can hold anything."""
    part = entry.path
    try:
        # Of each part this is asked, and nearly none is a link.
        is_link = is_linked or entry.is_symlink()
        is_inside = not is_link or Path(part).resolve().is_relative_to(folder.resolve())
        is_file = stat.S_ISREG(entry.stat().st_mode)
    except FileNotFoundError:  # exchanged meanwhile; a link that leads nowhere is found by DuckDB
        return
    except (OSError, RuntimeError) as error:  # no permission, a link to itself
        raise TraceError(f"{part} cannot be read: {error}", _MOVE) from None
    if not is_file:
        raise TraceError(f"{part} is not a file", _MOVE)
    if not is_inside:
        raise TraceError(
            f"{part} is a link to what is not in the trace: {Path(part).resolve()}",
            "put a copy of the file in its place, or move it away",
        )


def _is_duckdb(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == _MAGIC
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}") from None


def _attach(con: duckdb.DuckDBPyConnection, path: Path, place: Path, database: str) -> File:
    import duckdb

    try:
        con.execute(f"ATTACH {quoted(place)} AS {database} (READ_ONLY)")
        found = con.execute(
            "SELECT table_name FROM duckdb_tables()"
            " WHERE database_name = ? AND schema_name = 'main'",
            [database],
        ).fetchall()
        names = frozenset(name for (name,) in found)
        if revisions.TABLE not in names:
            raise TraceError(
                f"{path} is a DuckDB file, but holds no tables of cupti-etl",
                "trace.duckdb has views alone: give the folder it is in",
            )
        rows = con.execute(f"SELECT version_num FROM {database}.{revisions.TABLE}").fetchall()
    except duckdb.Error as error:
        raise TraceError(
            f"{path} cannot be opened: {why(error)}",
            "make sure that it is whole and that no program has it open for writing",
        ) from error
    found_revisions = [str(revision or "") for (revision,) in rows]
    for revision in found_revisions:
        if revision > revisions.newest():
            raise TraceError(
                f"{path} has schema revision {revision}; this cupti-etl knows"
                f" {revisions.newest()} as the newest",
                "open it with the version of cupti-etl that wrote it, or a newer one",
            )
    # Views and macros of a stranger's are not taken, nor tables that could be called anything.
    version = revisions.schema_version(min(found_revisions, default=revisions.newest()))
    known = names & set(TABLES)
    return File(
        place, database, known, {each: _renamed(con, database, each, version) for each in known}
    )


def _renamed(
    con: duckdb.DuckDBPyConnection, database: str, table: str, version: int
) -> dict[str, str]:
    """Present names of columns by those that a file of a version of the schema has."""
    names = TABLES[table].renamed(version)
    if not names:
        return {}
    there = con.sql(f"FROM {database}.main.{identifier(table)} LIMIT 0").columns
    return {before: now for before, now in names.items() if before in there}
