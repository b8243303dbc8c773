"""``cupti_etl.range()`` and ``step()``: ranges of a program's own code, as rows and in answers."""

from __future__ import annotations

import pytest
from support.captures import Capturer
from support.fakes import CUPTI_12, CUPTI_13
from support.from_inside import Inside
from support.pythons import VERSIONS, interpreters
from support.waiting import wait_until


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_kernels_are_in_the_ranges_that_launched_them(inside: Inside, release: str) -> None:
    text = """
driver.cuInit(0)
@cupti_etl.range("layer", depth=2)
def layer(count):
    launch(count)
with capture("run") as run:
    for index in range(3):
        with cupti_etl.range("forward", index=index, shape=(8, 512), name="é\\n", rate=0.1):
            launch(5)
            layer(2)
        launch(1)
rows = run.trace.query("nvtx_projection").arrow().to_pylist()
tell(*[(r["path"], r["ranges"], r["activities"]) for r in rows])
sql = '''FROM nvtx_range JOIN argument USING (process_id, marker_id) SELECT name, arguments
         ORDER BY start_ns'''
tell(*[(row["name"], json.loads(row["arguments"])) for row in run.trace.sql(sql)])
tell([row["subject"] for row in run.trace.query("capture_health")][0])
"""
    paths, arguments, health = inside(text, release)
    assert sorted(map(tuple, paths)) == [("forward", 3, 21), ("forward / layer", 3, 6)]
    shown = {"shape": [8, 512], "name": "é\n", "rate": 0.1}
    assert arguments[::2] == [["forward", {"index": index, **shown}] for index in range(3)]
    assert arguments[1::2] == [["layer", {"depth": 2}]] * 3
    assert health == ["complete"]
    trace = inside.trace("run")
    trace.check_sums()
    assert {row["object_kind"] for row in trace.rows("marker")} == {"thread"}


@pytest.mark.slow
def test_threads_have_ranges_of_their_own(inside: Inside) -> None:
    text = """
import threading
driver.cuInit(0)
shared = cupti_etl.range("shared")
barrier = threading.Barrier(4)
def work(count):
    for _ in range(50):
        with shared, cupti_etl.range(f"own {count}"), shared:
            launch(count)
    barrier.wait()
with capture("run") as run:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
rows = run.trace.query("nvtx_projection").arrow().to_pylist()
tell({r["path"]: (r["ranges"], r["activities"]) for r in rows})
"""
    ((paths,),) = inside(text)
    shared = {"shared": [200, 500]}
    own = {f"shared / own {n}": [50, 50 * n] for n in range(1, 5)}
    inner = {f"shared / own {n} / shared": [50, 50 * n] for n in range(1, 5)}
    assert paths == shared | own | inner


@pytest.mark.slow
def test_a_range_belongs_to_its_task(inside: Inside) -> None:
    text = """
import asyncio
driver.cuInit(0)
@cupti_etl.range("decorated")
async def decorated():
    launch(1)
    await asyncio.sleep(0.001)
    launch(1)
async def work(name, count):
    with cupti_etl.range(name):
        for _ in range(4):
            launch(count)
            await asyncio.sleep(0)
        await decorated()
async def idle():
    for _ in range(12):
        launch(1)
        await asyncio.sleep(0)
async def main():
    with capture("run") as run, cupti_etl.range("main"):
        first = asyncio.create_task(idle())
        await asyncio.gather(work("a", 10), work("b", 100), first)
        launch(7)
    return run
with cupti_etl.range("before"):
    run = asyncio.run(main())
rows = run.trace.query("nvtx_projection").arrow().to_pylist()
tell({r["path"]: r["activities"] for r in rows})
tell(run.trace.sql("FROM kernel").count())
sql = '''SELECT name, count(DISTINCT marker_id) AS n, bool_and(end_ns > start_ns) AS ended
         FROM nvtx_range GROUP BY ALL ORDER BY 1'''
tell([tuple(row.values()) for row in run.trace.sql(sql)])
"""
    (paths,), (kernels,), (ranges,) = inside(text)
    assert paths == {
        "main": 7,
        "a": 42,
        "a / decorated": 2,
        "b": 402,
        "b / decorated": 2,
    }
    assert kernels == 42 + 402 + 12 + 7
    assert ranges == [["a", 1, True], ["b", 1, True], ["decorated", 2, True], ["main", 1, True]]


@pytest.mark.slow
def test_steps_are_found(inside: Inside) -> None:
    text = """
driver.cuInit(0)
with capture("run") as run:
    for epoch in range(4):
        cupti_etl.step(epoch=epoch)
        with cupti_etl.range("forward"):
            launch(3)
        launch(2)
rows = run.trace.query("step").arrow().to_pylist()
tell(*[(row["step"], row["source"], row["name"]) for row in rows])
with run.trace.scope(steps=2) as part:
    tell(part.sql("FROM kernel").count())
tell([row["subject"] for row in run.trace.query("capture_health")][0])
"""
    steps, kernels, health = inside(text)
    assert steps == [[n, "nvtx", "step"] for n in range(4)]
    assert kernels == [5]
    assert health == ["complete"]


@pytest.mark.slow
def test_a_step_is_a_block_or_a_function_too(inside: Inside) -> None:
    text = """
driver.cuInit(0)
@cupti_etl.step
def train(n):
    launch(n)
    return n
tell(repr(cupti_etl.step()), train(1))
with capture("run") as run:
    with cupti_etl.step(epoch=3):
        launch(1)
    launch(10)
    try:
        with cupti_etl.step():
            launch(2)
            raise ValueError
    except ValueError:
        launch(20)
    train(3)
    launch(30)
    cupti_etl.step()
    launch(4)
sql = "SELECT activities FROM range_gpu ORDER BY range_id"
tell(*[row["activities"] for row in run.trace.sql(sql)])
tell(*[row["arguments"] for row in run.trace.sql("FROM argument")])
health = run.trace.query("capture_health")
tell(run.trace.sql("FROM kernel").count(), next(row["subject"] for row in health))
"""
    outside, steps, attributes, health = inside(text)
    assert outside == ["<cupti_etl.step>", 1]
    assert steps == [1, 2, 3, 4]
    assert attributes == ['{"epoch": 3}']
    assert health == [70, "complete"]


@pytest.mark.slow
def test_a_range_that_is_never_closed_has_no_end(inside: Inside) -> None:
    text = """
driver.cuInit(0)
with capture("run") as run:
    never = cupti_etl.range("never").__enter__()
    with cupti_etl.range("ended"):
        launch(2)
    del never
tell([(r["name"], r["end_ns"] is None) for r in run.trace.sql("FROM nvtx_range ORDER BY start_ns")])
health = run.trace.query("capture_health").arrow().to_pylist()
tell([(row["subject"], row["lost"], row["detail"]) for row in health if row["section"] == "loss"])
with run.trace.scope(range="never") as part:
    tell(part.sql("FROM kernel").count())
"""
    ranges, health, kernels = inside(text)
    assert ranges == [[["never", True], ["ended", False]]]
    assert health == [
        [
            [
                "incomplete",
                0,
                "marker; ranges that were still open when the capture ended have no end",
            ]
        ]
    ]
    assert kernels == [2]


def test_of_a_killed_program_the_open_ranges_are_there(inside: Inside) -> None:
    text = """
driver.cuInit(0)
run = capture("run", flush_ms=5).start()
with cupti_etl.range("open"):
    launch(3)
    flushed()
    os.kill(os.getpid(), 9)
"""
    inside(text, status=-9)
    trace = inside.trace("run")
    wait_until(lambda: [row["end_ns"] is not None for row in trace.rows("capture")] == [True])
    assert [(row["event"], row["name"]) for row in trace.rows("marker")] == [("start", "open")]
    assert trace.losses()["incomplete"][0]["records"] == 1


@pytest.mark.slow
def test_windows_and_captures_hold_what_is_theirs(inside: Inside) -> None:
    text = """
driver.cuInit(0)
outer = cupti_etl.range("outer").__enter__()
for name in ("one", "two"):
    with capture(name, paused=True) as run:
        with cupti_etl.range("unseen"), cupti_etl.range("unseen"):
            launch(1)
        with run.recording():
            crossing = cupti_etl.range("crossing").__enter__()
            with cupti_etl.range(name):
                launch(1)
        crossing.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    rows = run.trace.sql("FROM nvtx_range ORDER BY start_ns")
    tell([(r["name"], r["end_ns"] is None) for r in rows])
"""
    told = inside(text)
    assert told == [[[["crossing", False], [name, False]]] for name in ("one", "two")]


@pytest.mark.slow
def test_a_fork_inside_of_a_range_leaves_the_parent_alone(inside: Inside) -> None:
    text = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
driver.cuInit(0)
with capture("run") as run:
    with cupti_etl.range("around") as around:
        child = os.fork()
        if child == 0:
            with cupti_etl.range("child"):
                pass
            around.__exit__(None, None, None)
            os._exit(7)
        tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        launch(2)
tell([(r["name"], r["end_ns"] is None) for r in run.trace.sql("FROM nvtx_range")], run.problem)
"""
    assert inside(text) == [[7], [[["around", False]], None]]
    inside.trace("run").check_sums()


@pytest.mark.slow
def test_one_thread_may_close_what_another_opened(inside: Inside) -> None:
    text = """
import threading
driver.cuInit(0)
with capture("run") as run:
    r = cupti_etl.range("handed on").__enter__()
    other = threading.Thread(target=r.__exit__, args=(None, None, None))
    other.start(); other.join()
rows = run.trace.sql("SELECT thread_id = end_thread_id AS same, end_ns FROM nvtx_range")
tell([(r["same"], r["end_ns"] is None) for r in rows])
"""
    assert inside(text) == [[[[False, False]]]]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_ranges_count_where_the_whole_program_is_captured(capturer: Capturer, version: str) -> None:
    if version not in interpreters():
        pytest.skip(f"Python {version} is not here")
    program = """
import asyncio, ctypes, cupti_etl
from cupti_etl.inprocess import ranges
assert not ranges.obstacle, ranges.obstacle
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
@cupti_etl.range("work", n=1)
def work():
    driver.fakeLaunch(0, 0, 0)
for _ in range(20):
    work()
async def task(name):
    with cupti_etl.range(name):
        await asyncio.sleep(0.001)
async def main():
    await asyncio.gather(task("a"), task("b"))
asyncio.run(main())
cupti_etl.step()
"""
    command = [interpreters()[version], "-c", program]
    run = capturer.run(options=["--kinds", "light"], command=command)
    assert run.status == 0, run.stderr
    names = [row["name"] for row in run.rows("marker") if row["event"] == "start"]
    # Two pieces of each task.
    assert sorted(names) == ["a", "a", "b", "b", "step", *["work"] * 20]
    assert run.count("marker") == 2 * len(names)
    assert run.count("argument") == 20
    run.check_sums()
    assert not run.losses()


@pytest.mark.slow
def test_what_finds_no_room_is_counted(inside: Inside) -> None:
    text = """
import signal
driver.cuInit(0)
run = capture("run", buffer_mb=32).start()
os.kill(run._collector._process.pid, signal.SIGSTOP)
name = "x" * 4000
for n in range(20_000):
    with cupti_etl.range(name):
        pass
os.kill(run._collector._process.pid, signal.SIGCONT)
run.stop()
tell(run.problem)
"""
    assert inside(text) == [[None]]
    trace = inside.trace("run")
    trace.check_sums()
    # Records of CUPTI's own may find no room, either.
    (lost,) = (row for row in trace.losses()["ring_full"] if row["table_name"] == "marker")
    assert trace.count("marker") + lost["records"] == 40_000


@pytest.mark.slow
def test_profile_decorates_with_and_without_arguments(inside: Inside) -> None:
    text = """
driver.cuInit(0)
@cupti_etl.profile("run", **json.loads(os.environ["OPTIONS"]))
def train(n):
    launch(n)
    return n
tell(train(3), train(4))
tell(train.run.trace.path.name, train.run.trace.sql("FROM kernel").count())
@cupti_etl.profile
def plain():
    launch(1)
tell(plain.__name__)
"""
    assert inside(text) == [[3, 4], ["run-2", 4], ["plain"]]
