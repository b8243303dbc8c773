"""Traces with samples of PCs and the code that they are in."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from cupti_etl.schema.arrow import arrow_schema
from support.trace import write_part, write_trace

CUBINS = Path(__file__).parents[1] / "data" / "cubins"
# What CUPTI's names of reasons begin with.
STALLED = "smsp__pcsamp_warps_issue_stalled_"


def with_code(
    folder: Path,
    sampled: Mapping[str, str],
    code: str = "places",
    piece: int = 2048,
    lost: int = -1,
) -> Path:
    """A trace with the code of a file of CUBINS in pieces, as cubin 7; one can be lost."""
    tables = {
        name: re.sub(r"0x[0-9a-f]+", lambda found: str(int(found[0], 16)), text)
        for name, text in sampled.items()
    }
    write_trace(folder, **tables)
    content = gzip.decompress((CUBINS / f"{code}.cubin.gz").read_bytes())
    rows = [
        {"process_id": 1, "cubin_crc": 7, "size_bytes": len(content), "piece_offset": at,
         "bytes": content[at : at + piece]}
        for number, at in enumerate(range(0, len(content), piece))
        if number != lost
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows, schema=arrow_schema("cubin"))
    write_part(folder / "cubin" / "part-000001.parquet", table)
    return folder
