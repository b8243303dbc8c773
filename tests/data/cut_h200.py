"""Cuts tests/data/jax_h200 and tests/data/triton_h200 from captures of real programs on an H200.

Run it on traces of JAX with command buffers, of JAX without, and of Triton's tuners::

    .venv/bin/python tests/data/cut_h200.py JAX_DEFAULT JAX_EAGER TUNES

What is left out: tables that the tests do not ask, passes of XLA's compiler (all but those in which
work was launched), and what names the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
_WORK = {"kernel": "", "memcpy": "", "memset": "", "kernel_name": "", "device": ""}
_JAX = _WORK | {
    "api_call": "WHERE correlation_id IN (SELECT correlation_id FROM launched)",
    "marker": "WHERE marker_id NOT IN"
    " (SELECT marker_id FROM TRACE_marker WHERE starts_with(name, 'XlaPass'))",
}
_TRITON = _WORK | {"launch_stack": "", "python_stack": ""}
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
    )
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
        where = where.replace("TRACE_marker", source)
        part = target / f"{table}.parquet"
        con.execute(
            f"COPY (SELECT {columns} FROM {source} {where})"
            f" TO '{part}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)"
        )
        print(part, part.stat().st_size)


if __name__ == "__main__":
    default, eager, tunes = map(Path, sys.argv[1:])
    cut(default, HERE / "jax_h200" / "command_buffers", _JAX)
    cut(eager, HERE / "jax_h200" / "launches", _JAX)
    cut(tunes, HERE / "triton_h200", _TRITON)
