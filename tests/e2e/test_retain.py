"""Captures of which only the newest is kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.captures import Capturer, running, table
from support.endings import verdict_and_kernels
from support.fake_cuda import script
from support.fakes import CUPTI_13
from support.waiting import wait_until


def test_a_run_that_is_shorter_than_what_is_kept(capturer: Capturer) -> None:
    capture = capturer.run(options=["--retain", "1h", "--retain", "1GB"], launches=200)
    assert capture.status == 0, capture.stderr
    capture.check_sums()
    assert verdict_and_kernels(capture.trace) == ("complete", 200)
    assert capture.count("discarded") == 0
    (run,) = capture.rows("capture")
    assert run["row_counts"] == capture.count("row_count")


@pytest.mark.slow
def test_what_goes_while_it_is_captured(capturer: Capturer, tmp_path: Path) -> None:
    """The sums are right in the end, and no loss is known."""
    stop = tmp_path / "stop"
    text = f"""
cuda()
while not os.path.exists({str(stop)!r}):
    launch(10, 1); time.sleep(0.01)
"""
    options = ["--retain", "40kB", "--roll", "1s"]
    words, env, trace, _ = capturer.prepare(CUPTI_13, options, command=script(text))
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until(lambda: "kernel" in table(trace, "discarded")["table_name"].to_pylist())
        stop.touch()
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    verdict, kernels = verdict_and_kernels(trace)
    assert verdict.startswith("complete; not kept: size ")
    rows = table(trace, "discarded").to_pylist()
    gone = sum(row["rows"] for row in rows if row["table_name"] == "kernel")
    counts = {row["table_name"]: row["stored"] for row in table(trace, "row_count").to_pylist()}
    assert counts["kernel"] == kernels
    (one,) = table(trace, "process").to_pylist()
    assert one["emitted"] == one["stored"] >= kernels + gone
