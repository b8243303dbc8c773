"""Ends of a traced program, and of its collector: what is stored, and what is said of the rest."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.captures import Capture, Capturer, running, table, wait_until_collected
from support.fake_cuda import script
from support.fakes import KERNEL, Log, kernel_name
from support.waiting import wait_for, wait_until

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.resume import open_segment
from cupti_etl.capture.segment import Process

pytestmark = pytest.mark.slow
CUPTI = "13.5.25"


def wait_for_rows(trace: Path, count: int) -> None:
    """Until so many kernels can be read, and the process that they are of."""
    wait_until(
        lambda: table(trace, "kernel").num_rows >= count and table(trace, "process").num_rows
    )


class Orphan:
    """A traced program whose collector has been killed, and what it does next.

    It launches ``before`` kernels of one name under the collector, ``between`` of another
    when nobody looks, and ``after`` of a third when told to, and ends.
    """

    def __init__(
        self,
        capturer: Capturer,
        folder: Path,
        before: int,
        between: int,
        after: int,
        options: Sequence[str] = (),
        then: str = "pass",
    ) -> None:
        self.files = {name: folder / name for name in ("pid", "go", "gone", "more", "end")}
        files = {name: str(path) for name, path in self.files.items()}
        text = f"""
cuda(); launch({before}, 1)
Path({files["pid"]!r}).with_suffix(".tmp").write_text(str(os.getpid()))
os.rename({files["pid"] + ".tmp"!r}, {files["pid"]!r})
wait_for({files["go"]!r})
{then}
launch({between}, 2)
Path({files["gone"]!r}).touch()
wait_for({files["more"]!r})
launch({after}, 3)
wait_for({files["end"]!r})
"""
        words, env, self.first, self.log_folder = capturer.prepare(
            CUPTI, ["--flush-ms", "20", *options], command=script(text)
        )
        self.env = env
        self.second = folder / "second"
        self._launched = before + between
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

    def go(self) -> None:
        """Let it launch when nobody looks, until CUPTI has given out all of it."""
        self.tell("go")
        wait_for(self.files["gone"])
        wait_until(lambda: self.log.delivered(KERNEL) == self._launched)

    def command(self, *words: str | Path) -> list[str]:
        """A cupti-etl command line."""
        return [sys.executable, "-m", "cupti_etl", *map(str, words)]

    def attach(self, *options: str | Path) -> subprocess.Popen[str]:
        """Start ``cupti-etl resume``."""
        words = self.command("resume", "-o", self.second, *options, str(self.pid))
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
        wait_until(lambda: not Path(f"/proc/{self.pid}").exists() or self.log[0].ended)

    def taken_over(self, rows: int) -> Capture:
        """Another collector attaches, has so many kernels, and follows the program to its end."""
        self.go()
        attached = self.attach()
        wait_for_rows(self.second, rows)
        self.tell("more")
        self.end()
        _, stderr = attached.communicate(timeout=120)
        assert attached.returncode == 0, stderr
        return self.capture(0)


@pytest.mark.parametrize("options", [[], ["--python-stacks"]])
def test_a_killed_collector_and_another_that_takes_over(
    capturer: Capturer, tmp_path: Path, options: list[str]
) -> None:
    orphan = Orphan(capturer, tmp_path, before=200, between=500, after=300, options=options)
    capture = orphan.taken_over(500)
    names: dict[str, int] = {}
    for row in capture.rows("kernel"):
        names[row["name"]] = names.get(row["name"], 0) + 1
    # Names that only the dead collector knew have come again.
    assert names == {kernel_name(2): 500, kernel_name(3): 300}
    assert all(row["name"] for row in capture.rows("api_call"))
    capture.check_sums()
    # Stacks that only the dead collector knew, too.
    known = {row["stack_id"] for row in capture.rows("python_stack")}
    assert {row["stack_id"] for row in capture.rows("launch_stack")} <= known
    assert capture.count("launch_stack") == (800 if options else 0)
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


@pytest.mark.parametrize(
    ("ending", "state"),
    [("return", "finished"), ("exit", "finished"), ("_exit", "killed"), ("abort", "killed")],
)
@pytest.mark.parametrize("release", ["12.4.127", CUPTI])
def test_how_programs_end(capturer: Capturer, release: str, ending: str, state: str) -> None:
    capture = capturer.run(
        release, ["--flush-ms", "10"], launches=500, rate=5000, exit=ending, threads=4
    )
    (process,) = capture.rows("process")
    assert process["state"] == state
    assert capture.count("kernel") == capture.log.delivered(KERNEL)
    if state == "finished":
        assert capture.count("kernel") == 2000
        assert capture.losses() == {}
        capture.check_sums()
    else:
        assert set(capture.losses()) == {"killed"}


def outliving(folder: Path) -> list[str]:
    """A command that ends at once, and leaves a worker that launches until told to stop."""
    return script(f"""
if os.fork():
    wait_for({str(folder / "works")!r})
    Path({str(folder / "command")!r}).with_suffix(".tmp").write_text(str(os.getpid()))
    os.rename({str(folder / "command.tmp")!r}, {str(folder / "command")!r})
    sys.exit()
os.setsid()
os.close(1); os.close(2)
cuda(); launch(50)
Path({str(folder / "works")!r}).write_text(str(os.getpid()))
wait_for({str(folder / "stop")!r})
launch(50)
""")


def records_no_more(pid: int) -> bool:
    """Whether a program has heard that its collector let it go."""
    fd = open_segment(pid)
    try:
        (*_, last) = Process.map(Decoder(), fd).windows()
    finally:
        os.close(fd)
    return bool(last.closed_by == "collector")


def test_linger(capturer: Capturer, tmp_path: Path) -> None:
    """Workers that outlive the command are followed for so long, and then let go."""
    words, env, trace, log = capturer.prepare(
        CUPTI, ["--flush-ms", "20", "--linger", "700ms"], command=outliving(tmp_path)
    )
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    try:
        capture = Capture(trace, done, capturer.fakes.log(log))
        assert capture.status == 0, capture.stderr
        (process,), (whole,) = capture.rows("process"), capture.rows("capture")
        assert capture.count("kernel") == 50
        assert process["state"] == "lost"
        assert set(capture.losses()) == {"abandoned"}
        assert 0.7e9 < whole["end_ns"] - whole["start_ns"] < 20e9
        # It is told to record no more, so there is nothing to attach to.
        pid = (tmp_path / "works").read_text()
        wait_until(lambda: records_no_more(int(pid)))
        again = [sys.executable, "-m", "cupti_etl", "resume", "-o", str(tmp_path / "no"), pid]
        refused = subprocess.run(again, env=env, capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert "record no more" in refused.stderr
        assert not (tmp_path / "no").exists()
    finally:
        (tmp_path / "stop").touch()
    wait_until(lambda: capturer.fakes.log(log)[0].ended)


def test_without_linger_workers_are_followed_to_their_end(
    capturer: Capturer, tmp_path: Path
) -> None:
    words, env, trace, log = capturer.prepare(CUPTI, command=outliving(tmp_path))
    with running(words, env, stderr=subprocess.PIPE) as process:
        # The command has ended, and the capture knows: it has waited for it.
        wait_for(tmp_path / "command")
        command = Path("/proc", (tmp_path / "command").read_text())
        wait_until(lambda: not command.exists())
        (tmp_path / "stop").touch()
        _, stderr = process.communicate(timeout=120)
    done = subprocess.CompletedProcess(words, process.returncode, "", stderr)
    capture = Capture(trace, done, capturer.fakes.log(log))
    assert capture.count("kernel") == 100
    assert capture.losses() == {}
    capture.check_sums()


def test_a_ring_that_is_full_before_anybody_attaches(capturer: Capturer, tmp_path: Path) -> None:
    """Nothing is held up meanwhile; what had no room is counted, the rest is there."""
    orphan = Orphan(
        capturer, tmp_path, before=100, between=150_000, after=1000, options=["--buffer-mb", "32"]
    )
    capture = orphan.taken_over(1)
    capture.check_sums()
    lost = {row["table_name"]: row["records"] for row in capture.losses()["ring_full"]}
    assert lost["kernel"] > 0
    assert capture.count("kernel") + lost["kernel"] == 151_000
    assert all(row["name"] for row in capture.rows("kernel"))


def test_attach_that_ends_first(capturer: Capturer, tmp_path: Path) -> None:
    """Ctrl-C or time ends it, and another can go on, exactly where it stopped."""
    orphan = Orphan(capturer, tmp_path, before=10, between=20, after=30)
    orphan.go()
    attached = orphan.attach()
    wait_for_rows(orphan.second, 20)
    again = subprocess.run(
        orphan.command("resume", "-o", tmp_path / "no", orphan.pid),
        env=orphan.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert again.returncode == 2
    assert "another collector has it" in again.stderr
    attached.send_signal(signal.SIGINT)
    _, stderr = attached.communicate(timeout=120)
    assert attached.returncode == 0, stderr
    capture = orphan.capture(0)
    assert capture.count("kernel") == 20
    assert "abandoned" in capture.losses()
    orphan.second = tmp_path / "third"
    orphan.tell("more")
    wait_until(lambda: orphan.log.delivered(KERNEL) == 60)
    attached = orphan.attach("--duration", "5s")
    _, stderr = attached.communicate(timeout=120)
    assert attached.returncode == 0, stderr
    assert orphan.capture(0).count("kernel") == 30
    orphan.end()


def test_an_orphan_that_is_killed(capturer: Capturer, tmp_path: Path) -> None:
    orphan = Orphan(capturer, tmp_path, before=10, between=20, after=30)
    orphan.go()
    attached = orphan.attach()
    wait_for_rows(orphan.second, 20)
    os.kill(orphan.pid, signal.SIGKILL)
    _, stderr = attached.communicate(timeout=120)
    assert attached.returncode == 0, stderr
    capture = orphan.capture(0)
    assert capture.rows("process")[0]["state"] == "killed"
    assert set(capture.losses()) == {"killed", "collector_killed"}
    assert all(loss["records"] is None for loss in capture.rows("loss"))


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("nobody", "there is no process"),
        ("untraced", "is not being traced"),
        ("zombie", "has ended"),
        ("forked", "is not being traced"),
        ("live", "another collector has it"),
    ],
)
def test_attach_refuses(capturer: Capturer, tmp_path: Path, who: str, words: str) -> None:
    ready, stop = tmp_path / "ready", tmp_path / "stop"
    text = f"""
cuda(); launch(1)
child = os.fork()
if not child:
    wait_for({str(stop)!r}); os._exit(0)
Path({str(ready)!r}).with_suffix(".tmp").write_text(f"{{os.getpid()}} {{child}}")
os.rename({str(ready.with_suffix(".tmp"))!r}, {str(ready)!r})
wait_for({str(stop)!r})
os.wait()
"""
    captured, env, _, log = capturer.prepare(CUPTI, command=script(text))
    with running(captured, env, stderr=subprocess.DEVNULL), subprocess.Popen(["true"]) as zombie:
        wait_for(ready)
        wait_until_collected(log)
        live, forked = ready.read_text().split()
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        pid = {
            "nobody": "4194304",
            "untraced": str(os.getpid()),
            "zombie": str(zombie.pid),
            "forked": forked,
            "live": live,
        }[who]
        attach = [sys.executable, "-m", "cupti_etl", "resume", "-o", str(tmp_path / "no"), pid]
        done = subprocess.run(
            attach, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        stop.touch()
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "no").exists()


def as_nobody(*words: str) -> list[str]:
    """A command as another user; skips where that cannot be."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can be another user")
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]


def test_attach_as_another_user(capturer: Capturer, tmp_path: Path) -> None:
    orphan = Orphan(capturer, tmp_path, before=1, between=1, after=1)
    code = (
        "import sys; from cupti_etl.capture.resume import open_segment\n"
        "from cupti_etl.errors import UsageError\n"
        f"try: open_segment({orphan.pid})\n"
        "except UsageError as error: print(error.message)"
    )
    python = str(Path(sys.executable).resolve())
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        as_nobody(python, "-c", code),
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    orphan.end()
    if done.returncode:
        pytest.skip(f"another user cannot run Python here: {done.stderr[-200:]}")
    assert "is not yours to look at" in done.stdout


def test_an_orphan_without_descriptors(capturer: Capturer, tmp_path: Path) -> None:
    """Root finds its segment all the same; for others there is a sentence."""
    orphan = Orphan(
        capturer, tmp_path, before=10, between=20, after=5, then="os.closerange(3, 4096)"
    )
    orphan.go()
    attached = orphan.attach()
    wait_until(lambda: attached.poll() is not None or (orphan.second / "process").exists())
    orphan.end()
    _, stderr = attached.communicate(timeout=120)
    if attached.returncode == 2:
        assert "has closed all its descriptors" in stderr
    else:
        assert attached.returncode == 0, stderr
        assert orphan.capture(0).count("kernel") == 25
