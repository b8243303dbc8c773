"""Runs ``cupti-etl capture`` on the fake program and reads what it wrote.

Tables are read with pyarrow straight from the Parquet parts, so that nothing of ours
stands between the file and the comparison.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cupti_etl
from cupti_etl.capture.resume import open_segment
from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.schema.kinds import KINDS
from support import copied
from support.fakes import CUPTI_13, Fakes, Log
from support.waiting import wait_until

# struct flock, and the command for locks that belong to an open description (fcntl.h).
_FLOCK = "hhqqi4x"
_F_OFD_GETLK = 36
# The copy that is being tested, installed or not.
PACKAGES = Path(cupti_etl.__file__).resolve().parents[1]


def unshare(*options: str) -> list[str]:
    """A command prefix for other namespaces; skips where the machine does not allow them."""
    prefix = ["unshare", *([] if os.getuid() == 0 else ["--map-root-user"]), *options]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here")
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"unshare {' '.join(options)} is not allowed here: {tried.stderr.strip()}")
    return prefix


def table(trace: Path, name: str) -> pa.Table:
    """All parts of a table; one that was not asked for has none."""
    parts = sorted((trace / name).glob("*.parquet"))
    if not parts:
        return arrow_schema(name).empty_table()
    # Of pm_sample, the first part of a growing trace lacks the columns of metrics.
    more = "default" if TABLES[name].more else "none"
    return pa.concat_tables((pq.ParquetFile(part).read() for part in parts), promote_options=more)


@contextmanager
def running(
    words: Sequence[str], env: Mapping[str, str], **streams: Any
) -> Iterator[subprocess.Popen[str]]:
    """A command in a session of its own; waited for, or killed if the test fails meanwhile."""
    process = subprocess.Popen(words, env=env, text=True, start_new_session=True, **streams)
    with process:
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def wait_until_collected(log: Path) -> None:
    """Wait until a collector has the segment of the one process of a run.

    Args:
        log: the run's folder, where the fake CUPTI leaves files that begin with the pid.
    """
    wait_until(
        lambda: any(_is_collected(int(path.name.split(".")[0])) for path in log.glob("*.counters"))
    )


def _is_collected(pid: int) -> bool:
    """Whether there is a lock on the first byte of a process's segment."""
    try:
        fd = open_segment(pid)
    except UsageError:  # it has none yet
        return False
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    try:
        kind, *_ = struct.unpack(_FLOCK, fcntl.fcntl(fd, _F_OFD_GETLK, asked))
    finally:
        os.close(fd)
    return bool(kind != fcntl.F_UNLCK)


class Capture:
    """One run of ``cupti-etl capture``.

    Attributes:
        trace: the folder that it wrote.
        status: exit status.
        stdout: what came out; text.
        stderr: likewise.
        log: what the fake CUPTIs of the run emitted.
    """

    def __init__(self, trace: Path, done: subprocess.CompletedProcess[str], log: Log) -> None:
        self.trace = trace
        self.status = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        self.log = log

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Rows of a table as dictionaries."""
        rows: list[dict[str, Any]] = table(self.trace, name).to_pylist()
        return rows

    def count(self, name: str) -> int:
        """Number of rows of a table."""
        return len(table(self.trace, name))

    def losses(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of ``loss`` by cause."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows("loss"):
            found.setdefault(row["cause"], []).append(row)
        return found

    def check_sums(self) -> None:
        """Where processes ended in order: emitted = stored + lost, and stored = rows."""
        for process in self.rows("process"):
            mine = [row for row in self.rows("loss") if row["process_id"] == process["process_id"]]
            lost = sum(row["records"] or 0 for row in mine if not row["is_stored"])
            assert process["emitted"] == process["stored"] + lost, (process, mine)
        stored = sum(process["stored"] for process in self.rows("process"))
        ours = ["launch_stack", "callback_event", "graph_node", "pc_sample", "pc_window", "cubin"]
        ours += ["sass_metric", "launch_metric", "nccl_event"]
        tables = [*(kind.table for kind in KINDS), *ours]
        assert stored == sum(map(self.count, tables))


class Capturer:
    """Starts captures below one folder; see ``run``.

    Attributes:
        trace_duckdb: whether trace.duckdb is made, which takes half the time of so small a trace.
    """

    def __init__(self, fakes: Fakes, folder: Path, *, trace_duckdb: bool = False) -> None:
        self.fakes = fakes
        self.folder = folder
        self.trace_duckdb = trace_duckdb
        self._number = 0

    def prepare(
        self,
        release: str | None,
        options: Sequence[str | Path] = (),
        fake: dict[str, Any] | None = None,
        command: Sequence[str] | None = None,
        **program: Any,
    ) -> tuple[list[str], dict[str, str], Path, Path]:
        """Command line, environment, trace folder and log folder of a run.

        Records are fixed, which every release has, unless the options say otherwise.
        """
        self._number += 1
        trace, log = (self.folder / f"{name}{self._number}" for name in ("trace", "log"))
        env = {**os.environ, **self.fakes.env(release, log=log, **fake or {})}
        env["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), env.get("PYTHONPATH", "")])
        env |= {"CUDA_INJECTION64_PATH": "", "NVTX_INJECTION64_PATH": ""}
        words = [sys.executable, "-m", "cupti_etl", "capture", "-o", str(trace)]
        if release is not None and "--cupti" not in options:
            words += ["--cupti", str(self.fakes.cupti(release))]
        if "--records" not in options:
            words += ["--records", "fixed"]
        if not self.trace_duckdb:
            words.append("--no-trace-duckdb")
        words += [*map(str, options), "--"]
        return [*words, *(command or self.fakes.program(**program))], env, trace, log

    def run(
        self,
        release: str | None = CUPTI_13,
        options: Sequence[str | Path] = (),
        fake: dict[str, Any] | None = None,
        command: Sequence[str] | None = None,
        stdin: str = "",
        **program: Any,
    ) -> Capture:
        """Capture the fake program (or ``command``) to its end.

        Args:
            release: of the fake CUPTI; None for a driver alone.
            options: of ``cupti-etl capture``.
            fake: of the fakes, see ``Fakes.env``.
            command: what to run instead of the fake program.
            stdin: text for its standard input.
            program: options of the fake program.
        """
        words, env, trace, log = self.prepare(release, options, fake, command, **program)
        done = copied.run(words[3:], env, stdin)
        return Capture(trace, done, self.fakes.log(log))
