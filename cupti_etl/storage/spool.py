"""A trace that many hosts write together: parts are written here and uploaded meanwhile."""

from __future__ import annotations

import secrets
import shlex
import socket
import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import UsageError
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.loss import Loss
from cupti_etl.storage import disk
from cupti_etl.storage.bucket import CHECK, ORIGIN, Url, put, reason
from cupti_etl.storage.destination import Destination
from cupti_etl.storage.parquet import ParquetFolder
from cupti_etl.storage.upload import Upload, Uploader

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.storage import Target

# Tables whose rows a process emits; all others are small.
_LARGE = {
    *(kind.table for kind in KINDS),
    *("launch_stack", "callback_event", "graph_node", "pc_sample", "pm_sample"),
}
_Lost = Counter[tuple["int | None", str]]


class Spool(Destination):
    """A folder on this machine, of limited size, from which a trace is uploaded.

    The trace is one folder in ``url``, named after the host; a random number keeps captures apart
    whose hosts have the same name.

    Args:
        url: of the trace of all hosts.
        home: where the folder is made; None for where temporary files are.
        limit_bytes: of the folder; rows that find no room are counted as lost.
    """

    def __init__(
        self, url: Url, home: Path | None, limit_bytes: int, *, is_synced: bool = True
    ) -> None:
        name = f"{socket.gethostname()}-{secrets.token_hex(8)}"
        super().__init__(url / name, is_synced=is_synced)
        self.folder = (home or Path(tempfile.gettempdir())) / f"cupti-etl-{url.name}-{name}"
        self._limit_bytes = limit_bytes
        self._uploader: Uploader | None = None
        self._upload: Upload | None = None

    def create(self) -> None:
        """See that one can write there, make the folder, and begin to upload."""
        assert isinstance(self.out, Url)
        try:
            put(self.out / ORIGIN, f"{socket.gethostname()}\n".encode())
        except OSError as error:
            raise UsageError(
                f"{self.out.parent} cannot be written: {reason(error)}", CHECK
            ) from None
        super().create()
        assert self.folder is not None
        self._upload = Upload(self.folder, self.out, self._limit_bytes // 2)
        self._uploader = Uploader(self._upload)
        self._uploader.start()

    def discard(self) -> None:
        """Take the folder away again."""
        self.remove()

    def remove(self) -> None:
        """Remove the folder; in the bucket, what has no rows is no trace."""
        assert self.folder is not None
        disk.remove(self.folder)

    def open(self, tables: Collection[str]) -> Target:
        """The target, in the thread that will use it."""
        assert self.folder is not None
        return _BoundedFolder(self.folder, tables, self._limit_bytes, is_synced=self._is_synced)

    def size(self) -> int:
        """Bytes that have been written, here and there."""
        assert self._upload is not None
        return super().size() + self._upload.removed_bytes

    def what_is_left(self) -> str:
        """A sentence for when it could not be written to its end."""
        return f"what was written before: cupti-etl upload {shlex.quote(str(self.folder))}"

    def finish(self) -> None:
        """Upload the rest, and remove the folder.

        Raises:
            EtlError: some of it could not be uploaded.
        """
        assert self._uploader is not None
        self._uploader.finish()


class _BoundedFolder(ParquetFolder):
    """A trace folder that takes no rows while it is full, and says how many those were."""

    def __init__(
        self, out: Path, tables: Collection[str], limit_bytes: int, *, is_synced: bool
    ) -> None:
        super().__init__(out, tables, is_made=True, is_synced=is_synced)
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._lost: _Lost = Counter()

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch, if there is room for it as it is in memory; of small tables, always."""
        if table not in _LARGE:
            super().write(table, batch)
            return
        if self._used_bytes + batch.nbytes > self._limit_bytes:
            self._used_bytes = disk.folder_bytes(self.out)
        if self._used_bytes + batch.nbytes > self._limit_bytes:
            self._lose(table, batch)
            return
        self._used_bytes += batch.nbytes
        super().write(table, batch)

    def _lose(self, table: str, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        if "process_id" not in batch.schema.names:
            self._lost[None, table] += batch.num_rows
            return
        for counted in pc.value_counts(batch["process_id"]).to_pylist():
            self._lost[counted["values"], table] += counted["counts"]

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Replace a small table; what found no room is lost and not stored."""
        super().replace(table, _CORRECT[table](rows, self._lost) if table in _CORRECT else rows)

    def roll(self) -> None:
        """Make everything that was written readable."""
        super().roll()
        self._used_bytes = disk.folder_bytes(self.out)

    def finish(self) -> None:
        """Write the last parts; they stay as they are, since most of them are elsewhere."""
        for writer in self._tables.values():
            writer.finish()
        self._publish()
        self._publisher.wait()


_Rows = list[dict[str, Any]]


def _losses(rows: _Rows, lost: _Lost) -> _Rows:
    detail = "the trace could not be uploaded as fast as it grew, and --spool-size was reached"
    return rows + [
        Loss(process_id, "spool_full", table, count, detail=detail).row()
        for (process_id, table), count in sorted(lost.items(), key=str)
    ]


def _processes(rows: _Rows, lost: _Lost) -> _Rows:
    mine: Counter[int | None] = Counter()
    for (process_id, _), count in lost.items():
        mine[process_id] += count
    return [_less(row, mine[row["process_id"]]) for row in rows]


def _counts(rows: _Rows, lost: _Lost) -> _Rows:
    return [_less(row, lost[row.get("process_id"), row["table_name"]]) for row in rows]


def _less(row: dict[str, Any], count: int) -> dict[str, Any]:
    return {**row, "stored": row["stored"] - count} if count and row["stored"] else row


_CORRECT: dict[str, Callable[[_Rows, _Lost], _Rows]] = {
    "loss": _losses,
    "process": _processes,
    "row_count": _counts,
}
