"""Columns that had another name when a part was written.

Parts are never rewritten for it.  Each says in its footer by which version of the schema its
columns are called; who reads it gives them their present names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.storage.bucket import readable
from cupti_etl.storage.sources import Folder, as_glob

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_VERSION = b"cupti_etl.schema_version"
# Present names by earlier ones.
_Names = tuple[tuple[str, str], ...]


def of_footer(table: str, footer: pq.FileMetaData) -> dict[str, str]:
    """Present names by those that the columns of a part have."""
    said = (footer.metadata or {}).get(_VERSION, b"")
    version = int(said) if said.isdigit() else SCHEMA_VERSION
    names = TABLES[table].renamed(version) if table in TABLES else {}
    return {before: now for before, now in names.items() if before in footer.schema.names}


def read_part(
    path: Path, table: str, columns: Sequence[str] | None = None, *, dictionaries: bool = False
) -> pa.Table:
    """The rows of a part under the present names of its columns.

    Args:
        path: the part.
        table: whose rows they are.
        columns: by their present names; all if not given.
        dictionaries: whether text is read as such.

    Raises:
        OSError: it cannot be read.
        pa.ArrowException: it is damaged.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        now = of_footer(table, file.metadata)
    before = {new: old for old, new in now.items()}
    text = [c.name for c in TABLES[table].columns if dictionaries and c.type.arrow == "string"]
    with pq.ParquetFile(path, read_dictionary=[before.get(name, name) for name in text]) as file:
        wanted = [before.get(name, name) for name in columns] if columns is not None else None
        rows = file.read(wanted)
    return rows.rename_columns([now.get(name, name) for name in rows.column_names])


def files(folders: Iterable[Folder], table: str) -> list[tuple[Mapping[str, str], list[str]]]:
    """The parts of a table as globs, by what is renamed in them."""
    found: dict[_Names, list[str]] = {}
    is_asked = table in TABLES and any(column.was for column in TABLES[table].columns)
    for folder in folders:
        parts = _by_names(folder, table) if is_asked else {}
        if len(parts) > 1:
            for names, paths in parts.items():
                found.setdefault(names, []).extend(map(as_glob, paths))
        elif patterns := folder.globs(table):
            # Who writes the trace names the columns of the next part as those of the last.
            found.setdefault(next(iter(parts), ()), []).extend(patterns)
    return [(dict(names), patterns) for names, patterns in found.items()]


def _by_names(folder: Folder, table: str) -> dict[_Names, list[Path]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts: dict[_Names, list[Path]] = {}
    for path in sorted(folder.parts(table)):
        try:
            names: _Names = tuple(of_footer(table, pq.read_metadata(readable(path))).items())
        except FileNotFoundError:  # replaced meanwhile
            continue
        except (OSError, pa.ArrowException):  # whoever reads its rows will say so
            names = ()
        parts.setdefault(names, []).append(path)
    return parts
