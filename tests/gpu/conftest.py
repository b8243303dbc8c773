"""Traces written by hand, for what judges traces: scripts/gpu."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "gpu"


@pytest.fixture(autouse=True)
def _scripts_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    # `machine`, `model` and the like are names that others may use, too.
    for path in SCRIPTS.glob("*.py"):
        sys.modules.pop(path.stem, None)
