"""The demo's trace folder: replaced if the demo made it, never otherwise."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupti_etl.errors import UsageError
from cupti_etl.storage import disk
from cupti_etl.storage.replace import DEMO_MARK, check_replaceable, others_in


def make_room(folder: Path, *, overwrite: bool = False) -> None:
    """Remove a trace that an earlier demo left in this folder, or any where that is asked for.

    Raises:
        UsageError: there is something else, or something was added to the trace; or nothing can be
            made there.
    """
    if not folder.exists() and not folder.is_symlink():
        home = next(each for each in folder.absolute().parents if each.exists())
        if not os.access(home, os.W_OK | os.X_OK):
            raise UsageError(f"{folder} cannot be created in {home}", "choose another -o")
        return
    if overwrite:
        check_replaceable(folder)
        disk.remove(folder)
        return
    hint = "choose another -o, or add --overwrite"
    if folder.is_symlink() or not (folder / DEMO_MARK).is_file():
        raise UsageError(f"{folder} exists already, and the demo did not make it", hint)
    others = others_in(folder)
    if others:
        what = f"{folder} holds more than the demo made: {', '.join(others[:5])}"
        raise UsageError(what, "choose another -o, or remove it")
    shutil.rmtree(folder)


def mark(folder: Path, launched: Mapping[str, Any] | None) -> None:
    """Note in a trace that the demo made it, and what its workload launched, if it ran."""
    if folder.is_dir():
        text = json.dumps({"made_by": "cupti-etl demo", "launched": launched}, indent=1)
        (folder / DEMO_MARK).write_text(text + "\n")
