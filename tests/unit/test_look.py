"""How often the parts of an open trace are looked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.trace import add_part, write_trace

import cupti_etl
from cupti_etl.storage import state

ONE = "start_ns end_ns name\n 0 10 a"


def test_many_files_are_looked_for_a_tenth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, look = [0.0], state.state

    def slow(sources):
        now_s[0] += 1.0
        return look(sources)

    monkeypatch.setattr(state, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(state, "state", slow)
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:

        def kernels() -> int:
            return opened.sql("FROM kernel").count()

        assert kernels() == 1
        add_part(path, "kernel", ONE)
        assert kernels() == 2, "few are looked for each time"
        monkeypatch.setattr(state, "_FEW_FILES", 0)
        assert kernels() == 2
        begin_s = now_s[0]
        add_part(path, "kernel", ONE)
        assert kernels() == 2
        assert now_s[0] == begin_s
        now_s[0] += 9.0
        assert kernels() == 3
        add_part(path, "kernel", ONE)
        assert kernels() == 3
        # As a part of them has vanished.
        opened._connection.views.look.again()
        assert kernels() == 4
