"""Merging the small parts of a trace into few, each sorted by time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage import disk
from cupti_etl.storage.manifest import Entry
from cupti_etl.storage.part import write_part
from cupti_etl.storage.parts import Parts, compacting
from cupti_etl.storage.renames import read_part

# Rows of a part that stays as it is; smaller ones are merged in the end.
PART_ROWS = 1 << 16
_FEW_ROWS = 1 << 11


def in_order(table: str, rows: pa.Table) -> pa.Table:
    """The rows as a finished part has them: by time, where the table has one."""
    keys = TABLES[table].sort
    if not keys or _is_in_order(keys, rows):
        return rows
    return rows.sort_by([(key, "ascending") for key in keys])


def _is_in_order(keys: Sequence[str], rows: pa.Table) -> bool:
    """Whether few rows are as they would be sorted, which needs pyarrow.compute.

    Its import takes a tenth of a short capture's time.
    """
    if len(rows) > _FEW_ROWS:
        return False
    # NULL comes last.
    columns = [[(value is None, value) for value in rows[key].to_pylist()] for key in keys]
    found = list(zip(*columns, strict=True))
    return all(one <= next_ for one, next_ in pairwise(found))


def compact(parts: Parts, tables: Iterable[str]) -> None:
    """Merge the small parts of tables.

    Raises:
        OSError: they do not fit; then the old ones are still there.
    """
    chosen = [table for table in tables if len(parts.named.get(table, ())) > 1]
    merge(parts, {table: list(_groups(parts.named[table])) for table in chosen})


def merge(parts: Parts, groups: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """Let each group of a table's parts become one, numbered as the groups are.

    The new parts are made in folders beside the tables', and exchanged with those when all are
    there.

    Args:
        parts: of the trace; nobody else may change those of these tables meanwhile.
        groups: by table, the names of all of its parts.

    Raises:
        OSError: they do not fit; then the old ones are still there.
    """
    try:
        merged = {table: _merged(parts, table, each) for table, each in groups.items()}
        if merged:
            parts.exchange(merged)
    finally:
        for table in groups:
            shutil.rmtree(compacting(parts.out, table), ignore_errors=True)


def _groups(named: Mapping[str, Entry]) -> Iterator[list[str]]:
    """Parts that are large enough each by itself; small ones with as many others."""
    group: list[str] = []
    rows = 0
    for name, entry in sorted(named.items()):
        if entry.rows >= PART_ROWS:
            yield [name]
            continue
        # Of what is merged into one part: it is sorted in memory.
        if group and rows + entry.rows > PART_ROWS * 5 // 4:
            yield group
            group, rows = [], 0
        group.append(name)
        rows += entry.rows
    if group:
        yield group


def _merged(parts: Parts, table: str, groups: Sequence[Sequence[str]]) -> dict[str, Entry]:
    pa.default_memory_pool().release_unused()  # before it needs more of another size
    folder, fresh, named = parts.out / table, compacting(parts.out, table), parts.named[table]
    disk.remove(fresh)
    fresh.mkdir()
    made: dict[str, Entry] = {}
    for number, group in enumerate(groups):
        target = fresh / f"part-{number:06d}.parquet"
        if len(group) == 1 and named[group[0]].rows >= PART_ROWS:
            _link(folder / group[0], target)
            made[target.name] = named[group[0]]
        else:
            rows = in_order(table, _read(folder, group, table))
            made[target.name] = write_part(target, table, rows)
    return made


def _link(part: Path, target: Path) -> None:
    """Let a part be in both folders."""
    try:
        os.link(part, target)
    except OSError:  # a file system without hard links
        shutil.copyfile(part, target)


def _read(folder: Path, names: Iterable[str], table: str) -> pa.Table:
    # Plain readers, file by file: a dataset would split columns among threads and hold all
    # files at once.  The first part of a table has no rows, and none of the columns that a
    # capture adds.
    return pa.concat_tables(
        (read_part(folder / name, table, dictionaries=True) for name in names),
        promote_options="default" if TABLES[table].more else "none",
    ).unify_dictionaries()
