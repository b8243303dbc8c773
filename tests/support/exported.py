"""What an export says on stderr when it is done."""

from __future__ import annotations

import re
from pathlib import Path


def is_told(stderr: str, form: str, out: Path) -> bool:
    """Whether it is one line: the form, the place and the size, and nothing else."""
    several = r"\d+ files of " if out.is_dir() else ""
    line = rf"cupti-etl: {form} in {re.escape(str(out))}, {several}[\d.]+ [KM]?i?B\n"
    return re.fullmatch(line, stderr) is not None
