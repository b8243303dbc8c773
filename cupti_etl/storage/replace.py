"""``--overwrite``: what may be replaced, and how it goes once there is something in its place."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage import disk, manifest, schema_file
from cupti_etl.storage.exchange import exchange

# Beside the tables of a trace that the demo made; holds what the workload launched.
DEMO_MARK = "demo.json"
# What asking leaves in a trace.
OF_QUERIES = ("derived", "trace.duckdb", "trace.duckdb.wal")


def others_in(folder: Path) -> list[str]:
    """What in a folder is not of a trace."""
    own = {*TABLES, manifest.NAME, schema_file.NAME, DEMO_MARK, *OF_QUERIES}
    return sorted(path.name for path in folder.iterdir() if path.name not in own)


def check_replaceable(out: Path) -> None:
    """See that what is there, if anything, is a file or something that we wrote.

    Raises:
        UsageError: it is another folder, a link or a device, or a trace that is being written.
    """
    hint = "choose another name, or remove it"
    if not out.is_symlink() and (not out.exists() or out.is_file()):
        return
    if out.is_symlink() or not out.is_dir():
        raise UsageError(f"{out} is neither a file nor a folder, and is not overwritten", hint)
    if _is_export(out):
        return
    if not (out / "capture").is_dir() and not (out / manifest.NAME).is_file():
        raise UsageError(f"{out} is not a trace, and is not overwritten", hint)
    others = others_in(out)
    if others:
        raise UsageError(f"{out} holds more than a trace: {', '.join(others[:5])}", hint)
    from cupti_etl.storage.parquet import lock

    os.close(lock(out))


def _is_export(folder: Path) -> bool:
    """Whether there are files of tables in it and nothing else."""
    paths = list(folder.iterdir())
    return bool(paths) and all(path.is_file() and path.stem in TABLES for path in paths)


def install(new: Path, out: Path) -> None:
    """Give a finished file or folder its name; what had it is removed.

    Raises:
        UsageError: that must not be.
        OSError: there is no way.
    """
    check_replaceable(out)
    if not out.exists():
        new.rename(out)
    elif out.is_file() and new.is_file():
        new.replace(out)
    else:
        exchange(new, out)
        disk.remove(new)


class Aside:
    """What had the name of a trace that is written in its place; it is there again if that fails.

    Args:
        out: the name.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._path: Path | None = None

    def put(self) -> None:
        """Move it away.

        Raises:
            UsageError: that must not be.
        """
        if str(self._out) == "-" or self._out.is_fifo():
            return
        check_replaceable(self._out)
        if self._out.exists():
            path = self._out.with_name(f".{self._out.name}.{secrets.token_hex(8)}")
            self._out.rename(path)
            self._path = path

    def restore(self) -> None:
        """Move it back, where nothing is in its place."""
        if self._path is not None:
            with suppress(OSError):
                self._path.rename(self._out)
            self._path = None

    def remove(self) -> None:
        """Remove it."""
        if self._path is not None:
            with suppress(OSError):
                disk.remove(self._path)
            self._path = None
