"""What a flight recorder has written: a folder with traces, known by a file in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

# Says what the folder is for; there from the start, so that a killed recorder can be told from
# one that had nothing to write.
MARK = "flight-recorder.json"


def is_flight_folder(path: Path) -> bool:
    """Whether a folder is of a flight recorder."""
    return (path / MARK).is_file()


def is_over(path: Path) -> bool:
    """Whether the recorder of a folder ended in order."""
    try:
        return bool(json.loads((path / MARK).read_bytes())["is_over"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def traces_in(path: Path) -> list[Path]:
    """The traces of a flight recorder, the first one first."""
    numbered = {
        each: int(match[0])
        for each in path.iterdir()
        if each.is_dir() and (match := re.match(r"[0-9]+(?=-)", each.name))
    }
    return sorted(numbered, key=numbered.__getitem__)
