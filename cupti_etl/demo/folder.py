"""The demo's trace folder: replaced if the demo made it, never otherwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupti_etl.errors import UsageError
from cupti_etl.queries.materialize import DERIVED
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage import manifest, schema_file

# Beside the tables of a trace that the demo made; holds what the workload launched.
MARK = "demo.json"


def make_room(folder: Path) -> None:
    """Remove a trace that an earlier demo left in this folder.

    Raises:
        UsageError: there is something else, or something was added to the trace.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    hint = "choose another -o, or remove it"
    if folder.is_symlink() or not (folder / MARK).is_file():
        raise UsageError(f"{folder} exists already, and the demo did not make it", hint)
    own = {*TABLES, MARK, manifest.NAME, schema_file.NAME, DERIVED}
    own |= {"trace.duckdb", "trace.duckdb.wal"}
    others = sorted(path.name for path in folder.iterdir() if path.name not in own)
    if others:
        raise UsageError(f"{folder} holds more than the demo made: {', '.join(others[:5])}", hint)
    shutil.rmtree(folder)


def mark(folder: Path, launched: Mapping[str, Any] | None) -> None:
    """Note in a trace that the demo made it, and what its workload launched, if it ran."""
    if folder.is_dir():
        text = json.dumps({"made_by": "cupti-etl demo", "launched": launched}, indent=1)
        (folder / MARK).write_text(text + "\n")
