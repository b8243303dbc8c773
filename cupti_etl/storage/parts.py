"""The parts of a trace folder, and how they get their names.

A part is written under another name.  Then, in this order: its bytes are brought to the disk,
the manifest names it, it gets its name.  So the manifest decides: what was killed before it was
written did not happen, and what was killed after it is completed by ``recover``; several parts
that are named together are there together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.storage import disk, manifest, schema_file
from cupti_etl.storage.exchange import exchange
from cupti_etl.storage.manifest import Entry, Named


@dataclass(frozen=True)
class Finished:
    """A part that is written and has not got its name yet."""

    path: Path
    table: str
    name: str
    entry: Entry


def compacting(out: Path, table: str) -> Path:
    """Where the merged parts of a table are made."""
    return out / f".{table}.compacting"


class Parts:
    """What the manifest of a trace says, and the ways to change it.

    Args:
        out: the folder of the trace.
        named: the parts that it has.
        is_synced: whether to wait for the disk; else only a kill is survived, and no power
            failure.
    """

    def __init__(self, out: Path, named: Named | None = None, *, is_synced: bool = True) -> None:
        self.out = out
        self.named = named or {}
        self._is_synced = is_synced
        self._schema = self._saved_schema = b""

    def describe(self, schema: bytes) -> None:
        """Let ``schema.json`` say something else, from the next time that parts get names."""
        self._schema = schema

    def publish(self, finished: Sequence[Finished]) -> None:
        """Give parts their names; those that have one of them are replaced.

        Raises:
            OSError: the disk failed.  Where only the manifest did not fit, the parts are there.
        """
        self._sync(part.path for part in finished)
        for part in finished:
            self.named.setdefault(part.table, {})[part.name] = part.entry
        try:
            self._save()
        finally:
            for part in finished:
                disk.rename(part.path, self.out / part.table / part.name)
        self._sync({self.out / part.table for part in finished} | {self.out})

    def drop(self, names: Mapping[str, Iterable[str]]) -> None:
        """Remove parts; what else is known of them must be published before.

        Raises:
            OSError: the disk failed.
        """
        gone = [(table, name) for table, each in names.items() for name in each]
        for table, name in gone:
            del self.named[table][name]
        # Killed before the files are gone, their rows are there, as if they had stayed.
        self._save()
        for table, name in gone:
            disk.remove(self.out / table / name)

    def exchange(self, merged: Mapping[str, Mapping[str, Entry]]) -> None:
        """Let the merged parts of tables take the place of those that they were made of.

        A reader sees the old parts of a table or the new ones, never both.

        Raises:
            OSError: the disk failed.
        """
        fresh = {table: compacting(self.out, table) for table in merged}
        self._sync(fresh[table] / name for table, names in merged.items() for name in names)
        self._sync(fresh.values())
        self.named |= {table: dict(names) for table, names in merged.items()}
        self._save()
        for table, folder in fresh.items():
            exchange(folder, self.out / table)
        # Before the old parts go, the new ones must have their place for certain.
        self._sync([self.out])
        for folder in fresh.values():
            disk.remove(folder)

    def _save(self) -> None:
        written = {
            self.out / manifest.NAME: self._write(manifest.NAME, manifest.as_json(self.named))
        }
        schema = self._schema  # another thread may change it
        if schema is not self._saved_schema:
            # Where there is no room for it the rows come first; it is tried again with the next.
            with suppress(OSError):
                written[self.out / schema_file.NAME] = self._write(schema_file.NAME, schema)
                self._saved_schema = schema
        self._sync(written.values())
        for path, temporary in written.items():
            disk.rename(temporary, path)

    def _write(self, name: str, content: bytes) -> Path:
        temporary = self.out / f".{name}.tmp"
        disk.write(temporary, content)
        return temporary

    def _sync(self, paths: Iterable[Path]) -> None:
        if self._is_synced:
            disk.sync(list(paths))
