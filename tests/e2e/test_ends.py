"""Ends of a traced program, and of its collector: what is stored, and what is said of the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from support.captures import Capture, Capturer, running, table
from support.fake_cuda import script
from support.fakes import KERNEL, Log, kernel_name

CUPTI = "13.5.25"


def wait_for(path: Path, seconds: float = 30) -> None:
    """Until a file exists."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.005)


def wait_for_rows(trace: Path, count: int) -> None:
    """Until so many kernels can be read, and the process that they are of."""
    deadline = time.monotonic() + 30
    while table(trace, "kernel").num_rows < count or not table(trace, "process").num_rows:
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Orphan:
    """A traced program whose collector has been killed, and what it does next.

    It launches ``before`` kernels of one name under the collector, ``between`` of another
    when nobody looks, and ``after`` of a third when told to, and ends.
    """

    def __init__(self, capturer: Capturer, folder: Path, before: int, between: int, after: int):
        self.files = {name: folder / name for name in ("pid", "go", "gone", "more", "end")}
        files = {name: str(path) for name, path in self.files.items()}
        text = f"""
cuda(); launch({before}, 1)
Path({files["pid"]!r}).with_suffix(".tmp").write_text(str(os.getpid()))
os.rename({files["pid"] + ".tmp"!r}, {files["pid"]!r})
wait_for({files["go"]!r})
launch({between}, 2)
time.sleep(0.3)
Path({files["gone"]!r}).touch()
wait_for({files["more"]!r})
launch({after}, 3)
wait_for({files["end"]!r})
"""
        words, env, self.first, self.log_folder = capturer.prepare(
            CUPTI, ["--flush-ms", "20"], command=script(text)
        )
        self.env = env
        self.second = folder / "second"
        self._fakes = capturer.fakes
        with running(words, env, stderr=subprocess.DEVNULL) as collector:
            wait_for(self.files["pid"])
            wait_for_rows(self.first, before)
            collector.send_signal(signal.SIGKILL)
            collector.wait()
        self.pid = int(self.files["pid"].read_text())

    def tell(self, name: str) -> None:
        """Let the program go on to what comes after this word."""
        self.files[name].touch()

    def command(self, *words: str | Path) -> list[str]:
        """A cupti-etl command line."""
        return [sys.executable, "-m", "cupti_etl", *map(str, words)]

    def attach(self, *options: str | Path) -> subprocess.Popen[str]:
        """Start ``cupti-etl attach``."""
        words = self.command("attach", "-o", self.second, *options, str(self.pid))
        return subprocess.Popen(words, env=self.env, stderr=subprocess.PIPE, text=True)

    def capture(self, status: int) -> Capture:
        """The second trace."""
        done = subprocess.CompletedProcess([], status, "", "")
        return Capture(self.second, done, self.log)

    @property
    def log(self) -> Log:
        """What the fakes emitted."""
        return self._fakes.log(self.log_folder)

    def end(self) -> None:
        """Make the program end, whatever the test saw."""
        for name in self.files:
            self.tell(name)
        deadline = time.monotonic() + 20
        while Path(f"/proc/{self.pid}").exists() and not self.log[0].ended:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_killed_collector_and_another_that_takes_over(capturer: Capturer, tmp_path: Path) -> None:
    orphan = Orphan(capturer, tmp_path, before=200, between=500, after=300)
    orphan.tell("go")
    wait_for(orphan.files["gone"])
    attached = orphan.attach()
    wait_for_rows(orphan.second, 500)
    orphan.tell("more")
    orphan.end()
    _, stderr = attached.communicate(timeout=30)
    assert attached.returncode == 0, stderr
    capture = orphan.capture(0)
    names: dict[str, int] = {}
    for row in capture.rows("kernel"):
        names[row["name"]] = names.get(row["name"], 0) + 1
    # Names that only the dead collector knew have come again.
    assert names == {kernel_name(2): 500, kernel_name(3): 300}
    assert all(row["name"] for row in capture.rows("api_call"))
    capture.check_sums()
    (process,) = capture.rows("process")
    assert process["state"] == "finished"
    (gap,) = capture.losses()["collector_killed"]
    assert gap["records"] is None
    assert gap["start_ns"] < gap["end_ns"] <= process["end_ns"]
    # The first trace is made whole, and both speak of one process.
    subprocess.run(orphan.command("recover", orphan.first), check=True, env=orphan.env)
    (before,) = table(orphan.first, "process").to_pylist()
    assert before["process_id"] == process["process_id"]
    assert table(orphan.first, "kernel").num_rows + capture.count("kernel") == 1000
    assert orphan.log.delivered(KERNEL) == 1000
