"""Files that are made once: what stays of those who were killed, or were others."""

from __future__ import annotations

import os
import time
from pathlib import Path

from cupti_etl.storage.made_once import use

HOUR_S = 3600


def test_what_others_left_is_removed_and_what_they_make_is_not(tmp_path: Path) -> None:
    def beside(name: str, age_s: float) -> Path:
        path = tmp_path / name
        path.write_bytes(b"others")
        os.utime(path, times=(time.time() - age_s,) * 2)
        return path

    former = beside("views-0123.duckdb", 0)
    killed = beside(".views-4567.duckdb.89ab", 2 * HOUR_S)
    in_work = beside(".views-4567.duckdb.cdef", HOUR_S / 2)
    another = beside(".file-4567.duckdb.cdef", 2 * HOUR_S)
    kept = tmp_path / "views-4567.duckdb"
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_bytes(b"made")

    for _ in range(2):
        assert use(kept, make, lambda: None)
    assert kept.read_bytes() == b"made"
    assert len(made) == 1
    assert sorted(tmp_path.iterdir()) == sorted([kept, in_work, another])
    assert not former.exists()
    assert not killed.exists()
