"""``cupti_etl.capture()``: a program that captures itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fakes import CUPTI_12, CUPTI_13
from support.from_inside import Inside
from support.slow import few
from support.waiting import wait_until


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
@pytest.mark.parametrize("is_early", [True, False], ids=["before cuInit", "after cuInit"])
def test_what_a_block_launches_is_in_the_trace(
    inside: Inside, release: str, is_early: bool
) -> None:
    before, after = ("", "driver.cuInit(0)") if is_early else ("driver.cuInit(0); launch(3)", "")
    text = f"""
{before}
with capture("run") as run:
    {after or "pass"}
    launch(40)
launch(5)
tell(sum(row["calls"] for row in run.trace.query("kernel_summary")), run.problem)
"""
    assert inside(text, release) == [[40, None]]
    trace = inside.trace("run")
    assert trace.count("kernel") == 40
    trace.check_sums()
    assert [(row["state"], row["detail"]) for row in trace.rows("process")] == [("finished", None)]
    assert not trace.losses()


@pytest.mark.slow
def test_captures_one_after_another_hold_what_is_theirs(inside: Inside) -> None:
    text = """
driver.cuInit(0)
descriptors = lambda: len(os.listdir("/proc/self/fd"))
def shared():
    return sum("cupti-etl" in line for line in open("/proc/self/maps"))
def work(line):
    launch(line)
sizes = []
for number in range(1, 6):
    with capture(f"run{number}", python_stacks=number == 3, kinds="full" if number > 3 else ""):
        work(10 * number)
        if number == 3: work(1)
    launch(7)
    sizes.append((descriptors(), shared()))
tell(sizes)
"""
    ((sizes,),) = inside(text)
    assert len({tuple(size) for size in sizes}) == 1, sizes  # nothing is left behind
    for number in range(1, 6):
        trace = inside.trace(f"run{number}")
        assert trace.count("kernel") == 10 * number + (number == 3)
        trace.check_sums()
        assert not trace.losses()
        stacks = {row["stack_id"] for row in trace.rows("launch_stack")}
        assert len(stacks) == (2 if number == 3 else 0)
    names = {row["function"] for row in inside.trace("run3").rows("python_stack")}
    assert names == {"launch", "work", "<module>"}
    rows = [row for n in range(1, 6) for row in inside.trace(f"run{n}").rows("process")]
    assert len({row["process_id"] for row in rows}) == 5
    assert len({row["pid"] for row in rows}) == 1


@pytest.mark.slow
def test_pauses_make_windows_of_one_trace(inside: Inside) -> None:
    text = """
driver.cuInit(0)
with capture("run", paused=True) as run:
    launch(3)
    with run.recording():
        launch(10)
    launch(3)
    run.resume()
    launch(20)
    run.pause()
    launch(3)
"""
    inside(text)
    trace = inside.trace("run")
    assert trace.count("kernel") == 30
    windows = sorted(trace.rows("capture_window"), key=lambda row: row["start_ns"])
    starts = [row["start_ns"] for row in trace.rows("kernel")]
    in_windows = [sum(w["start_ns"] <= s <= w["end_ns"] for s in starts) for w in windows]
    assert in_windows == [10, 20]


@pytest.mark.slow
def test_a_decorated_function_is_captured_at_each_call(inside: Inside) -> None:
    text = """
import asyncio
@capture("run")
def step(count):
    "Trains."
    launch(count)
    return count
@capture("later.duckdb")
async def later():
    await asyncio.sleep(0)
    launch(4)
    return 4
driver.cuInit(0)
tell(step(2), step(3), asyncio.run(later()), step.__doc__, step.__name__)
with cupti_etl.open("later.duckdb") as trace:
    tell(trace.sql("FROM kernel").count())
"""
    assert inside(text) == [[2, 3, 4, "Trains.", "step"], [4]]
    assert [inside.trace(name).count("kernel") for name in ("run", "run-2")] == [2, 3]


REFUSED = {
    "twice at once": (
        'capture("a").start(); capture("b").start()',
        "UsageError: this process is being captured already, to {}/a",
    ),
    "stop without start": ('capture("a").stop()', "UsageError: this capture is not running"),
    "stop twice": (
        'a = capture("a"); a.start(); a.stop(); a.stop()',
        "UsageError: this capture is not running",
    ),
    "start twice": (
        'a = capture("a"); a.start(); a.stop(); a.start()',
        "UsageError: the capture to {}/a is over",
    ),
    "pause without start": ('capture("a").pause()', "UsageError: this capture is not running"),
    "no trace yet": ('capture("a").start().trace', "UsageError: the capture is not over"),
    "there already": (
        'os.mkdir("a"); capture("a").start()',
        "UsageError: a exists already (choose another out, or add overwrite=True)",
    ),
    "no such kind": (
        'capture("a", kinds="kernels").start()',
        "UsageError: there is no kind 'kernels'",
    ),
    "no such option": (
        'capture("a", kind="kernel").start()',
        "UsageError: No such option 'kind'.",
    ),
    "no such libcupti": (
        'cupti_etl.capture("a", cupti="gone.so").start()',
        "UsageError: there is no file gone.so",
    ),
    "a generator": (
        'capture("a")(lambda: (yield))',
        "UsageError: <lambda> is a generator, which runs in pieces",
    ),
    "a class": ('capture("a")(type("Model", (), {}))', "UsageError: Model is a class"),
    "under another": (
        'os.environ["CUPTI_ETL_SOCKET"] = "/x"; capture("a").start()',
        "UsageError: this runs under another capture already",
    ),
}


@pytest.mark.parametrize("case", few(5, REFUSED))
def test_what_cannot_be_is_said_and_the_program_goes_on(inside: Inside, case: str) -> None:
    code, message = REFUSED[case]
    text = f"""
driver.cuInit(0)
try:
    {code}
except cupti_etl.EtlError as error:
    tell(f"{{type(error).__name__}}: {{error}} ({{error.hint}})")
launch(1)
"""
    ((said,),) = inside(text)
    assert said.startswith(message.format(inside.folder)), said


@pytest.mark.slow
@pytest.mark.parametrize("refused", ['kinds="kernels"', 'cupti="libcupti.so"'])
def test_a_paused_capture_that_is_refused_pauses_no_other(inside: Inside, refused: str) -> None:
    text = f"""
driver.cuInit(0)
open("libcupti.so", "w").write("nothing")
try:
    functools.partial(capture, paused=True)("a", {refused}).start()
except cupti_etl.EtlError as error:
    tell(type(error).__name__)
with capture("b"):
    launch(5)
"""
    assert inside(text)
    assert inside.trace("b").count("kernel") == 5


@pytest.mark.slow
def test_without_cupti_the_capture_says_so(inside: Inside) -> None:
    text = """
open("libcupti.so", "w").write("nothing")
try:
    cupti_etl.capture("run", cupti="libcupti.so").start()
except cupti_etl.CaptureError as error:
    tell(str(error))
with capture("again"):  # nothing stands in the way of the next one
    tell("in")
"""
    said, *_ = inside(text)
    assert said[0].startswith("this process cannot be captured: ")
    assert "libcupti.so" in said[0]


@pytest.mark.slow
def test_a_program_goes_on_and_ends_where_a_second_capture_reaches_no_collector(
    inside: Inside,
) -> None:
    told = inside("""
from cupti_etl.inprocess import capture as inner
driver.cuInit(0)
with capture("a"):
    launch(3)
real = inner._set
inner._set = lambda words: real(
    {**words, "CUPTI_ETL_SOCKET": "/nowhere"} if words.get("CUPTI_ETL_SOCKET") else words
)
try:
    capture("b").start()
except cupti_etl.errors.CaptureError as error:
    tell("cannot be reached" in str(error))
launch(3)
""")
    assert told == [[True]]
    assert inside.trace("a").count("kernel") == 3


@pytest.mark.slow
def test_a_program_that_ends_or_dies_leaves_a_whole_trace(inside: Inside) -> None:
    inside('driver.cuInit(0); capture("a").start(); launch(30); sys.exit(3)', status=3)
    inside('driver.cuInit(0)\nwith capture("b"):\n launch(30)\n raise ValueError', status=1)
    for name in "ab":
        trace = inside.trace(name)
        assert trace.count("kernel") == 30
        trace.check_sums()
        assert [row["end_ns"] is not None for row in trace.rows("capture")] == [True]


@pytest.mark.slow
def test_the_collector_outlives_a_program_that_is_killed(inside: Inside) -> None:
    text = """
driver.cuInit(0)
run = capture("run").start()
launch(30)
tell(run._collector._process.pid)
os.kill(os.getpid(), 9)
"""
    ((pid,),) = inside(text, status=-9)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    trace = inside.trace("run")
    assert [row["state"] for row in trace.rows("process")] == ["killed"]
    assert [row["end_ns"] is not None for row in trace.rows("capture")] == [True]


@pytest.mark.slow
def test_a_collector_that_is_killed_is_a_warning(inside: Inside) -> None:
    text = """
driver.cuInit(0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with capture("run") as run:
        launch(3)
        os.kill(run._collector._process.pid, 9)
        run._collector._process.wait()
        launch(3)
tell([str(each.message) for each in caught], [each.category.__name__ for each in caught])
with capture("next"):
    launch(4)
"""
    (said, kinds), *_ = inside(text)
    assert said == ["the collector was ended by signal SIGKILL"], said
    assert kinds == ["CaptureWarning"]
    assert inside.trace("next").count("kernel") == 4


@pytest.mark.slow
def test_processes_that_it_starts_are_captured_and_forked_ones_are_not(inside: Inside) -> None:
    text = """
import subprocess
driver.cuInit(0)
worker = 'import ctypes; d = ctypes.CDLL("libcuda.so.1"); d.cuInit(0); d.fakeLaunch(0, 0, 0)'
with capture("run"):
    launch(2)
    subprocess.run([sys.executable, "-c", worker], check=True)
    child = os.fork()
    if child == 0:
        try:
            capture("in-child").start()
        except cupti_etl.EtlError as error:
            tell(str(error))
        sys.exit(0)
    os.waitpid(child, 0)
    launch(2)
subprocess.run([sys.executable, "-c", worker], check=True)
tell("over")
"""
    said = inside(text)
    assert said[-1] == ["over"]
    assert said[0][0].startswith("this process cannot be captured: it was forked"), said
    trace = inside.trace("run")
    assert sorted(
        sum(row["process_id"] == process["process_id"] for row in trace.rows("kernel"))
        for process in trace.rows("process")
    ) == [1, 4]
    trace.check_sums()


@pytest.mark.slow
def test_who_does_not_wait_for_the_end_is_recorded_no_further(inside: Inside) -> None:
    """Ctrl-C in a block, and once more while its end waits for the GPU."""
    text = """
import signal
from cupti_etl.inprocess import cuda
driver.cuInit(0)
run = capture("a").start()
launch(5)
waited = cuda.synchronize
cuda.synchronize = lambda: (waited(), signal.raise_signal(signal.SIGINT))
try:
    run.stop()
except KeyboardInterrupt:
    launch(3)
cuda.synchronize = waited
tell(repr(run).endswith("(being written)>"))
with capture("b"):  # waits for the first one, whose collector would have its records
    launch(4)
tell(run.trace.sql("FROM kernel").count(), repr(run).endswith("(over)>"))
"""
    assert inside(text) == [[True], [5, True]]
    assert inside.trace("b").count("kernel") == 4


def test_an_environment_is_as_it_was(inside: Inside) -> None:
    text = """
before = dict(os.environ)
with capture("run"):
    tell(sorted(set(os.environ) - set(before))[:2])
tell(before == dict(os.environ))
"""
    assert inside(text) == [[["CUDA_INJECTION64_PATH", "CUPTI_ETL_API"]], [True]]


@pytest.mark.slow
def test_a_full_disk_is_said_and_the_program_goes_on(inside: Inside) -> None:
    text = """
import resource
driver.cuInit(0)
warnings.simplefilter("ignore")
run = capture("run").start()
full = (20_000, 20_000)  # bytes that any one file may have
resource.prlimit(run._collector._process.pid, resource.RLIMIT_FSIZE, full)
for _ in range(60_000):
    driver.fakeLaunch(0, 0, 0)
with cupti_etl.range("goes on"):
    launch(3)
run.stop()
tell(type(run.problem).__name__, str(run.problem))
with capture("next") as run:
    launch(4)
tell(run.trace.sql("FROM kernel").count())
"""
    (kind, said), (kernels,) = inside(text)
    assert kind == "CaptureError"
    assert "File too large" in said, said
    assert kernels == 4


@pytest.mark.parametrize("records", [False, True])
def test_another_client_that_was_there_before_matters_only_while_it_records(
    inside: Inside, records: bool
) -> None:
    """As PyTorch's profiler, which keeps its subscription when it is done."""
    text = f"""
driver.cuInit(0)
if {records}:  # CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
    assert ctypes.CDLL(capture.keywords["cupti"]).cuptiActivityEnable(10) == 0
    launch(1)  # from 13.5 on, it is not seen before there is work
with warnings.catch_warnings(record=True), capture("run") as run:
    launch(10)
tell(None if run.problem is None else str(run.problem))
"""
    ((problem,),) = inside(text, fake={"other_client": 1})
    if records:
        assert problem is not None
        assert "another CUPTI client" in problem
    else:
        assert problem is None
        assert inside.trace("run").count("kernel") == 10
