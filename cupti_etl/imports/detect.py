"""Which tool wrote a file: told by what is in it, not by its name."""

from __future__ import annotations

import re
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from cupti_etl.capture.recording import MAGIC
from cupti_etl.errors import ForeignError

if TYPE_CHECKING:
    from cupti_etl.imports.source import Source

_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_HINT = (
    "SQLite and parquetdir exports of nsys, raw pages of ncu as CSV, JSON of PyTorch and recordings"
    " are read"
)
_EXECUTION_TRACE = b"[pytorch|profiler|execution_trace|"
_LFS = b"version https://git-lfs.github.com/spec/"
_TO_FILE = "write what comes from it to a file"


def detect(path: Path) -> Source:
    """The reader for a file or folder.

    Raises:
        ForeignError: it cannot be read, is empty, or of none of the formats.
    """
    refuse_special(path)
    try:
        if path.is_dir():
            return _folder(path)
        with path.open("rb") as file:
            head = file.read(65536)
    except OSError as error:
        raise ForeignError(f"{path} cannot be read: {error.strerror}") from None
    if not head:
        raise ForeignError(f"{path} is empty", "export it again, or copy it again completely")
    if head.startswith(_SQLITE):
        from cupti_etl.imports.nsys.reader import Nsys
        from cupti_etl.imports.nsys.sqlite import SqliteTables

        return Nsys(SqliteTables(path))
    if b'"ID","Process ID",' in head:
        from cupti_etl.imports.ncu import Ncu

        return Ncu(path)
    if head.startswith(MAGIC):
        from cupti_etl.imports.recording import Recording

        return Recording(path)
    if head.startswith(_LFS):
        raise ForeignError(
            f"{path} is a pointer of Git LFS, not the file itself", "get it: git lfs pull"
        )
    if _is_archive(head):
        raise ForeignError(f"{path} is an archive", "extract it, and import the files")
    inside = _extracted(head)
    begin = inside or head
    if _is_of_xla(begin):
        raise ForeignError(
            f"{path} is a profile of JAX or TensorFlow, which is not read",
            "capture the program: cupti-etl capture -- python PROGRAM; or export it from nsys",
        )
    if _EXECUTION_TRACE in begin and b'"traceEvents"' not in begin:
        raise ForeignError(
            f"{path} is an execution trace of PyTorch, which has no times of GPUs",
            "import what torch.profiler's export_chrome_trace wrote",
        )
    if _is_json(head) or (head.startswith(_GZIP) and (not inside.strip() or _is_json(inside))):
        from cupti_etl.imports.kineto.reader import Kineto

        return Kineto(path)
    if inside:
        hint = "extract it with gunzip, and import the file"
        raise ForeignError(f"{path} is compressed and holds no JSON", hint)
    raise ForeignError(_what_else(path, head), _HINT)


def refuse_special(path: Path) -> None:
    """See that it is a file or a folder: a pipe can be read once, and a device for ever.

    Raises:
        ForeignError: it is something else, or is not there.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if str(path) == "-":
            raise ForeignError("standard input is no file", _TO_FILE) from None
        raise ForeignError(f"there is no file {path}", "check its name") from None
    except OSError as error:
        raise ForeignError(f"{path} cannot be read: {error.strerror}") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise ForeignError(f"{path} is {what}, not a file", _TO_FILE)


def _folder(path: Path) -> Source:
    parts = list(path.glob("*.parquet"))
    for part in parts:
        refuse_special(part)
    if parts:
        from cupti_etl.imports.nsys.parquetdir import ParquetTables
        from cupti_etl.imports.nsys.reader import Nsys

        return Nsys(ParquetTables(path))
    if (path / "capture").is_dir():
        raise ForeignError(f"{path} is a trace of cupti-etl already", "ask it with `cupti-etl sql`")
    files = next(filter(lambda each: any(path.glob(each)), ("*.json", "*.json.gz")), "")
    hint = f"give its files: cupti-etl import {path}/{files} -o OUT" if files else _HINT
    raise ForeignError(f"{path} is a folder without Parquet files", hint)


def _extracted(head: bytes) -> bytes:
    """How a file begins that gzip compressed; nothing where it did not, or is damaged."""
    if not head.startswith(_GZIP):
        return b""
    try:
        return zlib.decompressobj(31).decompress(head, 512)
    except zlib.error:
        return b""


def _is_json(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") and not _is_duckdb(head)


def _is_duckdb(head: bytes) -> bool:
    # Before that is a checksum, which may begin as JSON does.
    return head[8:12] == b"DUCK"


def _is_of_xla(head: bytes) -> bool:
    """Whether XLA's profiler wrote it, as JSON or as a protocol buffer: by its first names."""
    name = rb'("name":\s*"|^\n.{1,16})/(host|device):'
    return re.search(name, head[:512], re.DOTALL) is not None


def _is_archive(head: bytes) -> bool:
    """Whether a file is of zip, or of tar, compressed by gzip or not."""
    head = _extracted(head) or head
    is_tar = head[257:262] == b"ustar" and head[:1] not in (b"{", b"[")
    return is_tar or head.startswith(b"PK\x03\x04")


def _what_else(path: Path, head: bytes) -> str:
    if head.startswith(b"Quadd") or path.suffix in (".nsys-rep", ".qdrep"):
        return f"{path} is a report of nsys, which only nsys can open: nsys export --type sqlite"
    if head.startswith(b"PAR1"):
        return f"{path} is one file of Parquet, and an export of nsys is a folder of them"
    if _is_duckdb(head):
        return f"{path} is of DuckDB; if cupti-etl wrote it, ask it with `cupti-etl sql`"
    return f"{path} has an unknown format"
