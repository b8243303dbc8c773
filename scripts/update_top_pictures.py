"""Draw the pictures of docs/howto/top.md: the view of the demo's recording, finished and growing.

.venv/bin/python scripts/update_top_pictures.py
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from cupti_etl.commands._writing import convert
from cupti_etl.imports.run import import_recording
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage.part import write_part
from cupti_etl.storage.renames import read_part
from cupti_etl.top.app import TopApp
from cupti_etl.top.growing import EVENTS
from cupti_etl.top.reader import Reader

# When parts end, before the last kernel does.
BEFORE_MS = (900, 700, 600)
# When a row could be written, as its table calls it.
TIMES = ("end_ns", "timestamp_ns", "realtime_ns")
ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
RECORDING = ROOT / "cupti_etl" / "demo" / "h200.etlrec"
# Fonts that a picture would fetch from elsewhere: whoever looks at it has one of fixed width.
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "run42"
        import_recording(RECORDING, whole, "", convert)
        asyncio.run(draw(whole, PICTURES / "top-80.svg", (80, 24)))
        growing = Path(scratch) / "growing" / "run42"
        later = split(whole, growing)
        asyncio.run(draw(growing, PICTURES / "top-120.svg", (120, 32), later))


async def draw(
    trace: Path, out: Path, size: tuple[int, int], later: Sequence[Mapping[Path, pa.Table]] = ()
) -> None:
    """Draw the view of a trace, once more parts have come."""
    app = TopApp(Reader(trace), Path(trace.name), every_s=0)
    async with app.run_test(size=size) as pilot:
        await app.read()
        for parts in later:
            for part, rows in parts.items():
                write_part(part, part.parent.name, rows)
            await app.read()
        await pilot.pause()
        picture = app.export_screenshot(title="cupti-etl top")
    out.write_text(_FONTS.sub("", picture))
    print(f"{out.relative_to(ROOT)}: {out.stat().st_size:,} bytes")


def split(whole: Path, out: Path) -> list[dict[Path, pa.Table]]:
    """The trace as it was before its last second, and the parts that came then."""
    shutil.copytree(whole, out)
    capture = rows_of(whole, "capture").to_pylist()
    running = [{**row, "end_ns": None, "command": "python train.py"} for row in capture]
    write_part(
        out / "capture" / "part-000000.parquet",
        "capture",
        pa.Table.from_pylist(running, arrow_schema("capture")),
    )
    last = pc.max(rows_of(whole, "kernel")["end_ns"]).as_py()
    edges = [0, *(last - ms * 10**6 for ms in BEFORE_MS), last + 1]
    pieces: list[dict[Path, pa.Table]] = [{} for _ in edges[1:]]
    for table in EVENTS:
        rows = rows_of(whole, table)
        times = rows[next(name for name in TIMES if name in rows.column_names)]
        for number, (begin, end) in enumerate(pairwise(edges)):
            chosen = pc.and_(pc.greater_equal(times, begin), pc.less(times, end))
            part = out / table / f"part-{number:06d}.parquet"
            pieces[number][part] = rows.filter(chosen)
        shutil.rmtree(out / table, ignore_errors=True)
        (out / table).mkdir()
    for part, rows in pieces[0].items():
        write_part(part, part.parent.name, rows)
    return pieces[1:]


def rows_of(trace: Path, table: str) -> pa.Table:
    parts = sorted((trace / table).glob("part-*.parquet"))
    if not parts:
        return arrow_schema(table).empty_table()
    return pa.concat_tables([read_part(part, table) for part in parts]).cast(arrow_schema(table))


if __name__ == "__main__":
    main()
