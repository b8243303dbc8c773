"""Where what is not complete is made: beside its name, and nobody else's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from cupti_etl.storage.place import SPILL, unfinished


def test_nobody_can_foresee_the_name(tmp_path: Path) -> None:
    out = tmp_path / "run.duckdb"
    with unfinished(out) as first, unfinished(out) as second:
        assert first != second
        assert {first.parent, second.parent} == {tmp_path}
        assert first.name.startswith(".run.duckdb.")
        assert str(os.getpid()) != first.name.removeprefix(".run.duckdb.")


def test_what_gets_its_name_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with unfinished(out) as path:
        path.write_text("whole")
        path.rename(out)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_does_not_is_removed_with_what_lies_beside_it(tmp_path: Path, is_folder: bool) -> None:
    mine = tmp_path / f".out.{os.getpid()}"
    mine.write_text("of somebody who is at work here, too")
    with suppress(KeyError), unfinished(tmp_path / "out") as path:
        if is_folder:
            path.mkdir()
            (path / "kernel.csv").touch()
        else:
            path.touch()
            path.with_name(f"{path.name}.wal").touch()
        spill = path.with_name(path.name + SPILL)
        spill.mkdir()
        (spill / "some.tmp").touch()
        raise KeyError
    assert list(tmp_path.iterdir()) == [mine]
