"""Where an export goes: over nothing unless that is asked for, under its name when complete."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cupti_etl.errors import EtlError, TraceError, UsageError
from cupti_etl.storage import disk
from cupti_etl.storage.replace import check_replaceable, install

# Of the folder beside an unfinished file to which is written what finds no room in memory.
SPILL = ".spill"


def refuse_existing(out: Path, *, overwrite: bool = False) -> None:
    """See that nothing is overwritten, or nothing but what may be.

    Raises:
        UsageError: there is a file or folder of that name, or no folder to put it in.
    """
    if overwrite:
        check_replaceable(out)
    elif out.is_symlink() or out.exists():
        raise UsageError(f"{out} exists already", "choose another name, or add --overwrite")
    if not out.parent.is_dir():
        raise UsageError(f"there is no folder {out.parent}", "make it, or choose another name")


def not_written(
    out: Path,
    error: OSError | str,
    todo: str = "check the permissions and the free space of the folder",
) -> TraceError:
    """What to raise where a file, or a folder, could not be written."""
    why = error if isinstance(error, str) else error.strerror or str(error)
    return TraceError(f"cannot write {out}: {why.splitlines()[0]}", todo)


@contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """A path beside ``out``, of a name that nobody can foresee, for what is not complete yet.

    What is there in the end, and has not been given its name, is removed, with what DuckDB writes
    beside it.
    """
    path = out.with_name(f".{out.name}.{secrets.token_hex(8)}")
    try:
        yield path
    finally:
        for suffix in ("", ".wal", SPILL):
            with contextlib.suppress(OSError):
                disk.remove(path.with_name(path.name + suffix))


@contextmanager
def new_output(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A path to write to; what is there in the end appears as ``out``.

    Raises:
        UsageError: there is something of that name.
        EtlError: it cannot be written.
    """
    refuse_existing(out, overwrite=overwrite)
    with unfinished(out) as partial:
        try:
            yield partial
            refuse_existing(out, overwrite=overwrite)
            install(partial, out)
        except OSError as error:
            raise not_written(out, error) from error
        except EtlError as error:
            if str(partial) in error.message:
                told = error.message.replace(str(partial), str(out))
                raise not_written(out, told.removeprefix(f"cannot write {out}: ")) from error
            raise


@contextmanager
def spilling(out: Path | None) -> Iterator[Path]:
    """A folder, which DuckDB makes, for what finds no room in memory: beside the file ``out``.

    Beside no file, as of a pipe, it is where the system has such things.  It is removed in the end.
    """
    if out is None or (out.exists() and not out.is_file()):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / SPILL
        return
    with unfinished(out) as path:
        yield path.with_name(path.name + SPILL)
