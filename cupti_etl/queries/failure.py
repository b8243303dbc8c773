"""What DuckDB reports, as an error that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from cupti_etl.errors import EtlError, MemoryLimitError, TraceError, UsageError
from cupti_etl.storage import manifest
from cupti_etl.storage.bucket import readable
from cupti_etl.storage.sources import PARTS, as_glob

_QUOTED_PART = re.compile(r"""['"(]([^'"(]*part-[^'"/]*\.parquet)['")]""")
# What DuckDB's reader of Parquet says of pages that it cannot make out, without the file's name.
_BROKEN_PAGE = re.compile(
    "TProtocolException|TType|don't know what type|Parquet file is likely corrupted|Out of buffer"
    "|Corrupted file|bitpacked data exceeds"
)
# Where spill.py has DuckDB put what finds no room in memory.
_FULL_DISK = re.compile("failed to offload|/duckdb_temp.*No space left on device")


def is_about(error: BaseException, folders: Sequence[Path]) -> bool:
    """Whether the message names parts of the trace, and not some file of the user's."""
    text = str(error)
    return "part-" in text and any(
        f"{spelt}/" in text for folder in folders for spelt in (str(folder), as_glob(folder))
    )


def may_pass(error: BaseException, folders: Sequence[Path]) -> bool:
    """Whether parts were exchanged under the query, so that it may succeed when run again."""
    import duckdb

    lost = isinstance(error, (duckdb.IOException, OSError)) and not is_interrupt(error)
    return lost and is_about(error, folders)


def is_interrupt(error: BaseException) -> bool:
    """Whether a statement was stopped; what it says of that tells the statement, and its parts."""
    import duckdb

    # Arrow knows only its text.
    is_one = isinstance(error, duckdb.InterruptException)
    return is_one or str(error).strip().startswith("INTERRUPT Error")


def translate(error: BaseException, folders: Sequence[Path]) -> EtlError:
    """The error to raise for one of DuckDB's or, out of a stream, of Arrow's."""
    import duckdb

    text = str(error).strip()
    if is_interrupt(error):
        return UsageError(text.partition("\n")[0] or "the statement was interrupted")
    if may_pass(error, folders):
        return TraceError(
            f"parts of the trace vanished while they were read: {text.splitlines()[0]}",
            "a capture may just have tidied them up: run it again",
        )
    if _FULL_DISK.search(text):
        return MemoryLimitError(
            text.splitlines()[0],
            "set TMPDIR to a folder with more room, for what finds none in memory; or SET"
            " memory_limit",
        )
    # Out of a stream, the class of the error does not come along.
    if isinstance(error, duckdb.OutOfMemoryException) or text.startswith("Out of Memory"):
        return MemoryLimitError(
            text.splitlines()[0], "ask for fewer columns, or aggregate, or SET memory_limit"
        )
    # DuckDB's own checksums, of a self-contained file.
    if "Corrupt database file" in text:
        return TraceError(
            f"a .duckdb file of the trace is damaged: {text.splitlines()[0]}",
            "take another copy of it, or export the trace again",
        )
    named = _QUOTED_PART.search(text)
    if named and is_about(error, folders):
        return _damaged(named[1], text)
    if _BROKEN_PAGE.search(text) and folders:
        for part in chain(_unreadable(folders), _changed(folders)):
            return _damaged(str(part), text)
        return TraceError(
            f"a part of the trace is damaged: {text.splitlines()[0]}",
            "take another copy of the trace, or ask for other columns",
        )
    if not isinstance(error, (duckdb.ProgrammingError, duckdb.DataError)):
        # A damaged footer is reported without the file's name.
        for part in _unreadable(folders):
            return _damaged(str(part), text)
    # What error() says in a query of the library is a sentence of its own.
    is_no_table = isinstance(error, duckdb.CatalogException)
    hint = "SHOW TABLES lists what can be queried" if is_no_table else ""
    return UsageError(text.removeprefix("Invalid Input Error: "), hint)


def _damaged(part: str, text: str) -> TraceError:
    return TraceError(
        f"{part} is damaged: {text.splitlines()[0]}",
        "move the file away to read the rest of the trace; `cupti-etl recover` does, and says so",
    )


def _unreadable(folders: Sequence[Path]) -> Iterable[Path]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for folder in folders:
        for part in sorted(folder.glob(f"*/{PARTS}")):
            try:
                pq.read_metadata(readable(part))
            except (pa.ArrowException, OSError):
                yield part


def _changed(folders: Sequence[Path]) -> Iterable[Path]:
    """The parts that are not what the manifest says."""
    for folder in folders:
        for table, parts in (manifest.read(folder) or {}).items():
            for name, entry in parts.items():
                if not entry.is_of(folder / table / name):
                    yield folder / table / name
