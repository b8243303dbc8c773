"""Cuts tests/data/jax_h200, triton_h200, pcs_h200 and counters_h100 from captures on these GPUs.

Run it on traces of JAX with command buffers, of JAX without, of Triton's tuners, of
scripts/gpu/stalls.cu with PC sampling, and on the folder with the traces of
`scripts/gpu_range_metrics.sh --rounds application`; "" for what is not cut anew::

    .venv/bin/python tests/data/cut_h200.py JAX_DEFAULT JAX_EAGER TUNES STALLS COUNTERS

What is left out: tables that the tests do not ask, passes of XLA's compiler (all but those in which
work was launched), and what names the machine.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
_WORK = {"kernel": "", "memcpy": "", "memset": "", "kernel_name": "", "device": ""}
_JAX = _WORK | {
    "api_call": "WHERE correlation_id IN (SELECT correlation_id FROM launched)",
    "marker": "WHERE marker_id NOT IN"
    " (SELECT marker_id FROM TRACE_marker WHERE starts_with(name, 'XlaPass'))",
}
_TRITON = _WORK | {"launch_stack": "", "python_stack": ""}
_STALLS = _WORK | {"pc_sample": "", "pc_window": "", "cubin": ""}
_RUNS = {"kernel": "", "kernel_name": "", "launch_metric": "", "process": ""}
_SASS = {"kernel": "", "kernel_name": "", "sass_metric": "", "cubin": ""}
_PATHS = {
    "^.*/site-packages/": "/venv/",
    "^.*/torchinductor_[a-z]+/": "/cache/",
    r"^.*/(tune\.py)$": r"/app/\1",
}


def cut(trace: Path, target: Path, tables: dict[str, str]) -> None:
    """Write these rows of these tables of a trace to a folder."""
    target.mkdir(parents=True, exist_ok=True)
    con = duckdb.connect()
    work = " UNION ALL ".join(
        f"SELECT correlation_id FROM read_parquet('{trace}/{table}/*.parquet')"
        for table in ("kernel", "memcpy", "memset")
        if (trace / table).is_dir()  # without, of ranges that were measured as wholes
    )
    if work:
        con.execute(f"CREATE TABLE launched AS {work}")
    for table, where in tables.items():
        source = f"read_parquet('{trace}/{table}/*.parquet')"
        columns = "*"
        if table == "python_stack":
            file = "file"
            for path, shown in _PATHS.items():
                file = f"regexp_replace({file}, '{path}', '{shown}')"
            columns = f"* REPLACE ({file} AS file)"
        if table == "device":
            columns = "* REPLACE ('GPU-0' AS device_uuid)"
        if table == "process":
            columns = "* REPLACE ('node1' AS host, './counted' AS argv, NULL AS cupti_path)"
        where = where.replace("TRACE_marker", source)
        part = target / f"{table}.parquet"
        con.execute(
            f"COPY (SELECT {columns} FROM {source} {where})"
            f" TO '{part}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)"
        )
        print(part, part.stat().st_size)


def hide_folder(part: Path, name: bytes) -> None:
    """In the line tables of cubins, another folder of the same length for that of the source."""
    cubins = pq.read_table(part)
    code = [
        re.sub(rb"/[^\0]*(?=\0+" + name + rb"\0)|/[^\0]*/scripts/gpu(?=\0)", _as_long, each.as_py())
        for each in cubins["bytes"]
    ]
    at = cubins.schema.get_field_index("bytes")
    pq.write_table(cubins.set_column(at, "bytes", pa.array(code)), part, compression="zstd")


def _as_long(folder: re.Match[bytes]) -> bytes:
    return b"/src".ljust(len(folder[0]), b"/")


if __name__ == "__main__":
    default, eager, tunes, stalls, counters = sys.argv[1:]
    if default:
        cut(Path(default), HERE / "jax_h200" / "command_buffers", _JAX)
    if eager:
        cut(Path(eager), HERE / "jax_h200" / "launches", _JAX)
    if tunes:
        cut(Path(tunes), HERE / "triton_h200", _TRITON)
    if stalls:
        cut(Path(stalls), HERE / "pcs_h200", _STALLS)
        hide_folder(HERE / "pcs_h200" / "cubin.parquet", b"stalls.cu")
    if counters:
        for name in ("runs", "ranges", "differing"):
            tables = {t: rows for t, rows in _RUNS.items() if (Path(counters) / name / t).is_dir()}
            cut(Path(counters) / name, HERE / "counters_h100" / name, tables)
        cut(Path(counters) / "sass", HERE / "counters_h100" / "sass", _SASS)
        hide_folder(HERE / "counters_h100" / "sass" / "cubin.parquet", b"counted.cu")
