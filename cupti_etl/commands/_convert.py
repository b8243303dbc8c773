"""The self-contained file that ``-o FILE.duckdb`` asks for."""

from __future__ import annotations

from pathlib import Path


def convert(folder: Path, out: Path) -> None:
    """Write the trace in a folder into one file; DuckDB is loaded only now."""
    from cupti_etl.render import duckdb_file

    duckdb_file.convert(folder, out)
