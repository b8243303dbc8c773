"""The comparison of instructions' counts with known ones can fail, and runs to its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.captures import PACKAGES
from support.fakes import CUPTI_13, Fakes

pytestmark = pytest.mark.slow


def whole() -> list[dict[str, Any]]:
    """What a capture has if all is as known; kernels without a branch are as short as can be."""
    from sass_metrics import BY_THREADS, EXECUTED, KNOWN, LAUNCHES, STRAIGHT, WARPS

    rows: list[dict[str, Any]] = []

    def add(name: str, at: int, text: str, warps: int, threads: int) -> None:
        place = {"name": name, "function": name, "pc_offset": at, "instruction": text}
        rows.append({**place, "metric": EXECUTED, "value": warps})
        rows.append({**place, "metric": BY_THREADS, "value": threads})

    for name, known in KNOWN.items():
        at = 0
        for text, (warps, threads) in known.items():
            # Of loads, there are two.
            times = warps // WARPS if name in STRAIGHT else 1
            for _ in range(times):
                full = f"@P0 {text}.E [R1]" if text == "STG" else text
                add(name, at, full, warps * LAUNCHES // times, threads * LAUNCHES // times)
                at += 16
    return rows


def judged(rows: list[dict[str, Any]], losses: tuple[str, ...] = ()) -> dict[str, Any]:
    from sass_metrics import judge

    done: dict[str, Any] = judge(rows, losses)
    return done


def test_what_is_as_known_passes() -> None:
    done = judged(whole())
    assert (done["ok"], done["wrong"], done["compared"]) == (True, [], 16)


def test_one_count_too_many_fails() -> None:
    for number in range(len(whole())):
        rows = whole()
        rows[number]["value"] += 1
        assert judged(rows)["ok"] is False, rows[number]


def test_an_instruction_that_is_not_known_of_fails() -> None:
    rows = whole()
    own = {"name": "store_once", "function": "store_once", "pc_offset": 0x70, "instruction": "NOP"}
    assert judged([*rows, {**own, "metric": rows[0]["metric"], "value": 8}])["ok"] is False


def test_nothing_counted_and_losses_fail() -> None:
    assert judged([])["ok"] is False
    assert judged(whole(), ("sass_refused: no",))["ok"] is False


def test_the_script_runs_to_its_end_and_says_what_is_wrong(
    fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernels of the fake program are others."""
    import sass_metrics

    for name, value in fakes.env(CUPTI_13).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    program = tmp_path / "program"
    words = fakes.program(launches=2, names=1)
    program.write_text(f"#!/bin/sh\necho gpu_ms 1.5\nexec {' '.join(words)} > /dev/null\n")
    program.chmod(0o755)
    folders = ["--out", str(tmp_path / "out"), "--work", str(tmp_path)]
    cupti = ["--cupti", str(fakes.cupti(CUPTI_13))]
    monkeypatch.setattr(sys, "argv", ["x", *folders, "--program", str(program), *cupti])
    assert sass_metrics.main() == 1
    assert '"ok": false' in (tmp_path / "out" / "sass_metrics.json").read_text()
    # With nothing to compare, it goes on to what counting costs.
    monkeypatch.setattr(sass_metrics, "KNOWN", {})
    monkeypatch.setattr(sass_metrics, "STRAIGHT", ())
    monkeypatch.setattr(sass_metrics, "PAIRS", 1)
    assert sass_metrics.main() == 0
    assert '"ratio"' in (tmp_path / "out" / "sass_metrics.json").read_text()
