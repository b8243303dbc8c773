"""Finishing a trace whose collector was killed, or whose machine failed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import PROCESS_ID
from cupti_etl.schema.types import timestamp
from cupti_etl.storage import inspect, manifest, schema_file
from cupti_etl.storage.compaction import compact
from cupti_etl.storage.inspect import Found
from cupti_etl.storage.parquet import lock
from cupti_etl.storage.part import write_part
from cupti_etl.storage.parts import Finished, Parts
from cupti_etl.storage.renames import of_footer, read_part

_DETAIL = "the collector was killed: what it had not written, and all that came later, is lost"
_Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Recovered:
    """What was done.

    Attributes:
        was_finished: whether the trace had an end already.
        processes: how many processes were being traced when the collector died.
        lost: parts that are damaged or gone, as ``TABLE/NAME``.
    """

    was_finished: bool
    processes: int
    lost: tuple[str, ...]


def recover(out: Path) -> Recovered:
    """Finish what a killed collector left: whole tables, end times, losses.

    Rows that had been written are there still; those that the collector held died with it.
    A part that is damaged is put aside, and a row of ``loss`` says so.

    Raises:
        TraceError: the folder is not a trace, nothing was written to it, or what was written is
            none of ours, or leads out of the folder.
        UsageError: a capture is still writing it.
    """
    if not (out / "capture").is_dir() and not (out / manifest.NAME).exists():
        raise TraceError(f"{out} is not a trace", "give the folder that capture -o made")
    held = lock(out)
    try:
        inspect.refuse_links(out)
        named = manifest.read(out)
        inspect.settle(out, named or {})
        return _Recovery(out, inspect.look(out, named)).run()
    except OSError as error:
        raise TraceError(
            f"{out} cannot be recovered: {error.strerror or error}",
            "check the permissions and the free space of the folder",
        ) from error
    # Numbers and texts that the parts say of themselves can be any.
    except (pa.ArrowException, KeyError, OverflowError, UnicodeDecodeError) as error:
        raise TraceError(
            f"{out} cannot be recovered: its tables have other columns than ours: {error}",
            "read its parts with DuckDB or pyarrow",
        ) from error
    finally:
        os.close(held)


class _Recovery:
    """One trace, of which the whole parts are known."""

    def __init__(self, out: Path, found: Found) -> None:
        self._out = out
        self._found = found
        self._parts = Parts(out, found.parts)

    def run(self) -> Recovered:
        captures, losses = self._rows("capture"), self._rows("loss")
        # The row about the capture comes before all others.
        if not captures and not self._found.lost:
            raise TraceError(
                f"{self._out} holds nothing: its collector was killed before it wrote anything",
                "remove it, and capture again",
            )
        self._describe()
        was_finished = bool(captures) and all(row["end_ns"] is not None for row in captures)
        new = list(self._lost_parts({row["detail"] for row in losses}))
        live: _Rows = []
        if not was_finished:
            last_ns = self._last_written_ns()
            processes = self._rows("process")
            live = [row for row in processes if row["end_ns"] is None]
            # With the status of the command came the last rows.
            has_all = bool(captures) and all(row["exit_status"] is not None for row in captures)
            if live or not (has_all or any(row["detail"] == _DETAIL for row in losses)):
                new += self._collector_killed(live, last_ns)
            counts = self._counts()
            _end(live, counts, last_ns)
            for table, rows in (("process", processes), ("loss", losses + new), ("capture", [{}])):
                counts.append({"table_name": table, "stored": len(rows)})
            self._replace({"process": processes, "loss": losses + new})
            compact(self._parts, TABLES)
            self._replace({"row_count": counts})
            row = {"end_ns": last_ns, "row_counts": len(counts)}
            self._replace({"capture": [{**old, **row} for old in captures or [{}]]})
        elif new:
            self._replace({"loss": losses + new})
        return Recovered(was_finished, len(live), tuple(sorted(self._found.lost)))

    def _describe(self) -> None:
        """See that ``schema.json`` is about parts as they are written now."""
        is_ours, before = schema_file.read(self._out)
        if not is_ours:
            tables = {*self._found.parts, *inspect.RESTATED} & TABLES.keys()
            added = {table: {**self._added(table), **before.get(table, {})} for table in tables}
            self._parts.describe(schema_file.as_json(added))

    def _added(self, table: str) -> schema_file.Added:
        """The columns that the capture has added to a table; older parts describe them."""
        found: schema_file.Added = {}
        for name in sorted(self._found.parts.get(table, ())):
            found |= schema_file.added(table, pq.read_schema(self._out / table / name))
        return found

    def _rows(self, table: str) -> _Rows:
        """Rows of a small table; what an older one lacks is NULL."""
        schema = arrow_schema(table)
        empty = dict.fromkeys(schema.names)
        return [
            {**empty, **row}
            for name in sorted(self._found.parts.get(table, ()))
            for rows in [read_part(self._out / table / name, table)]
            for row in _as_ours(rows, schema).to_pylist()
        ]

    def _replace(self, tables: dict[str, _Rows]) -> None:
        finished = []
        for table, rows in tables.items():
            (self._out / table).mkdir(exist_ok=True)
            path = self._out / table / "recovered.tmp"
            entry = write_part(path, table, pa.Table.from_pylist(rows, arrow_schema(table)))
            finished.append(Finished(path, table, "part-000000.parquet", entry))
        self._parts.publish(finished)

    def _lost_parts(self, said: set[str | None]) -> Iterator[dict[str, Any]]:
        """Rows of ``loss`` about parts, as far as it has none about them."""
        for part, rows in sorted(self._found.lost.items()):
            detail = f"{part} is damaged or gone"
            if rows != 0 and detail not in said:
                yield {
                    "cause": "part_lost",
                    "table_name": part.split("/")[0],
                    "records": rows,
                    "is_stored": False,
                    "detail": detail,
                }

    def _collector_killed(self, live: _Rows, last_ns: int) -> _Rows:
        loss = {
            "cause": "collector_killed",
            "is_stored": False,
            "start_ns": self._latest_ns() or last_ns,
            "detail": _DETAIL,
        }
        return [{"process_id": row["process_id"], **loss} for row in live] or [loss]

    def _last_written_ns(self) -> int:
        paths = self._out.glob("*/part-*.parquet")
        return max((path.stat().st_mtime_ns for path in paths), default=0)

    def _counts(self) -> _Rows:
        """Rows of ``row_count``: what is there, and what is known to have been there."""
        kinds = {kind.table for kind in KINDS}
        counts: _Rows = []
        for table, parts in sorted(self._found.parts.items()):
            if table in kinds:
                counts += [
                    {"process_id": process_id, "table_name": table, "stored": rows}
                    for process_id, rows in self._by_process(table, parts).items()
                ]
            elif table not in inspect.RESTATED and (rows := sum(p.rows for p in parts.values())):
                counts.append({"table_name": table, "stored": rows})
        for part, rows_lost in sorted(self._found.lost.items()):
            table = part.split("/")[0]
            if rows_lost and table not in inspect.RESTATED:
                counts.append({"table_name": table, "stored": rows_lost})
        return counts

    def _by_process(self, table: str, parts: dict[str, manifest.Entry]) -> dict[int | None, int]:
        found: dict[int | None, int] = {}
        for name in parts:
            column = PROCESS_ID.name
            rows = read_part(self._out / table / name, table, [column])
            ids = _as_ours(rows, arrow_schema(table))[column]
            for counted in pc.value_counts(ids).to_pylist():
                key = counted["values"]
                found[key] = found.get(key, 0) + counted["counts"]
        return found

    def _latest_ns(self) -> int:
        """The latest time in any table of records, from the parts' statistics; 0 without any."""
        return max(
            (
                _latest_in(kind.table, pq.read_metadata(self._out / kind.table / name), times)
                for kind in KINDS
                for times in [{c.name for c in kind.columns if c.type is timestamp}]
                for name in self._found.parts.get(kind.table, ())
            ),
            default=0,
        )


def _as_ours(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns that a table has, with its types."""
    fields = [schema.field(name) for name in rows.column_names if name in schema.names]
    # Also where the types are the same, texts may not be UTF-8.
    ours = rows.select([field.name for field in fields]).cast(pa.schema(fields))
    ours.validate(full=True)
    return ours


def _end(live: _Rows, counts: _Rows, last_ns: int) -> None:
    """Say of processes that were still being traced how far that went."""
    for row in live:
        mine = [count for count in counts if count.get("process_id") == row["process_id"]]
        stored = sum(count["stored"] for count in mine)
        row |= {"state": "lost", "end_ns": last_ns, "detail": _DETAIL, "stored": stored}
        # Rows were written since it was counted what the process had emitted.
        row["emitted"] = None if row["emitted"] is None else max(row["emitted"], stored)


def _latest_in(table: str, metadata: pq.FileMetaData, times: set[str]) -> int:
    latest, now = 0, of_footer(table, metadata)
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            name = now.get(column.path_in_schema, column.path_in_schema)
            statistics = column.statistics if name in times else None
            found = statistics.max if statistics is not None and statistics.has_min_max else None
            if isinstance(found, int):
                latest = max(latest, found)
    return latest
