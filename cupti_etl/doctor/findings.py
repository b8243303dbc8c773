"""What the doctor says, and where it looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        area: what it belongs to, such as ``driver``.
        status: ``ok``; ``warn``, capture works, but something else may not; or ``fail``, capture
            cannot work.
        what: what was found, in a sentence.
        todo: what to do about it, in a sentence; "" where there is nothing to do.
    """

    area: str
    status: str
    what: str
    todo: str = ""

    def as_dict(self) -> dict[str, str]:
        """The finding as plain data."""
        return {"area": self.area, "status": self.status, "what": self.what, "todo": self.todo}


@dataclass(frozen=True)
class Area:
    """What findings belong to, such as ``driver``; makes them."""

    name: str

    def ok(self, what: str) -> Finding:
        """Nothing to do."""
        return Finding(self.name, OK, what)

    def warn(self, what: str, todo: str) -> Finding:
        """Capture works, but something else may not."""
        return Finding(self.name, WARN, what, todo)

    def fail(self, what: str, todo: str) -> Finding:
        """Capture cannot work."""
        return Finding(self.name, FAIL, what, todo)


@dataclass(frozen=True)
class System:
    """The machine that is looked at; tests give another one.

    Attributes:
        root: what absolute system paths are relative to.
        environ: environment variables.
        sys_path: Python's search path.
        cupti: libcupti that the user named, or None.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    sys_path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))
    cupti: Path | None = None

    def read(self, path: str) -> str:
        """Text of a system file; "" if it is not there or not readable."""
        try:
            return (self.root / path).read_text(errors="replace")
        except OSError:
            return ""

    def process_names(self) -> set[str]:
        """Names of all processes that are visible, cut to 15 characters as Linux does."""
        names = set()
        for folder in (self.root / "proc").glob("[0-9]*"):
            try:
                names.add((folder / "comm").read_text(errors="replace").strip())
            except OSError:  # the process has ended, or is hidden
                continue
        return names


def can_capture(findings: Iterable[Finding]) -> bool:
    """Whether nothing found stands in the way of a capture."""
    return all(finding.status != FAIL for finding in findings)
