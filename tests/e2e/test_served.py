"""A trace that is served while it is made."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from support.captures import Capturer, running
from support.fake_cuda import script
from support.waiting import wait_until

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")


def rows(base: str, token: str) -> list[dict[str, Any]]:
    """Kernels that are written already; none where there is no part yet, which is said."""
    try:
        with urlopen(f"{base}/arrow/kernel?format=json&token={token}") as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found
    except HTTPError as error:
        said = json.load(error)["error"]
        # The first parts may be of other tables.
        assert "nothing yet" in said["detail"] or said["status"] == 404, said
        error.close()
        return []


@pytest.mark.slow
def test_the_rows_of_a_running_program(capturer: Capturer) -> None:
    stop = capturer.folder / "stop"
    text = f"""
cuda()
while not os.path.exists({str(stop)!r}):
    launch(5, 1); time.sleep(0.002)
"""
    words, env, trace, _ = capturer.prepare("13.5.25", ["--serve=0"], command=script(text))
    with running(words, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        found = re.fullmatch(
            r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", process.stderr.readline()
        )
        assert found
        wait_until(lambda: rows(found[1], found[2]))
        seen = len(rows(found[1], found[2]))
        wait_until(lambda: len(rows(found[1], found[2])) > seen)
        stop.touch()
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (0, ""), stderr
    assert trace.is_dir()
    # The server has ended with the capture.
    with pytest.raises(OSError, match="refused"):
        urlopen(found[1])


@pytest.mark.parametrize("out", ["run42.duckdb", "kernel.arrows", "-"])
def test_only_a_folder_is_served(capturer: Capturer, out: str) -> None:
    table = () if out.endswith("duckdb") else ("--table", "kernel")
    capture = capturer.run(options=["--serve", "-o", out, *table])
    assert capture.status == 2
    assert "give -o FOLDER" in capture.stderr
