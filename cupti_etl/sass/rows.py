"""The rows of the query ``sass``: instructions of functions that were sampled or counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.sass.disassembler import disassemble, find_nvdisasm

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

READS = ("pc_sample", "sass_metric", "cubin")
_COLUMNS = (
    "cubin_crc BIGINT, function VARCHAR, pc_offset BIGINT, instruction VARCHAR, file VARCHAR,"
    " line INTEGER, inlined_at VARCHAR"
)


def make(con: duckdb.DuckDBPyConnection) -> None:
    """The rows, as the table ``_derived_sass``; none without nvdisasm.

    Cubins are taken one after the other, so that memory is that of one.
    """
    con.execute(f"CREATE TABLE _derived_sass ({_COLUMNS})")
    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        return
    sampled: dict[int, set[str]] = {}
    for crc, function in con.execute(
        "SELECT DISTINCT cubin_crc, function FROM ("
        "SELECT cubin_crc, function FROM pc_sample"
        " UNION ALL SELECT cubin_crc, function FROM sass_metric"
        ") WHERE cubin_crc IS NOT NULL AND function IS NOT NULL"
    ).fetchall():
        sampled.setdefault(crc, set()).add(function)
    for crc, functions in sorted(sampled.items()):
        code = _cubin(con, crc)
        if code is None:
            continue
        con.register("_sass_rows", _table(crc, functions, nvdisasm, code))
        con.execute("INSERT INTO _derived_sass FROM _sass_rows")
        con.unregister("_sass_rows")


def _cubin(con: duckdb.DuckDBPyConnection, crc: int) -> bytes | None:
    """A cubin, put together; None if a piece of it is lost."""
    pieces = con.execute(
        "SELECT DISTINCT ON (piece_offset) piece_offset, size_bytes, bytes FROM cubin"
        " WHERE cubin_crc = ? AND bytes IS NOT NULL ORDER BY piece_offset",
        [crc],
    ).fetchall()
    code = bytearray()
    for at, _, piece in pieces:
        if at != len(code):
            return None
        code += piece
    return bytes(code) if pieces and len(code) == pieces[0][1] else None


def _table(crc: int, functions: set[str], nvdisasm: Path, code: bytes) -> pa.Table:
    import pyarrow as pa

    def rows() -> Iterator[dict[str, Any]]:
        for each in disassemble(nvdisasm, code):
            if each.function in functions:
                yield {
                    "cubin_crc": crc,
                    "function": each.function,
                    "pc_offset": each.pc_offset,
                    "instruction": each.text,
                    "file": each.file or None,
                    "line": each.line or None,
                    "inlined_at": ", ".join(each.inlined_at) or None,
                }

    schema = pa.schema(
        [
            ("cubin_crc", pa.int64()),
            ("function", pa.string()),
            ("pc_offset", pa.int64()),
            ("instruction", pa.string()),
            ("file", pa.string()),
            ("line", pa.int32()),
            ("inlined_at", pa.string()),
        ]
    )
    return pa.Table.from_pylist(list(rows()), schema=schema)
