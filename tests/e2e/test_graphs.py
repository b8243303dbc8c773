"""Kernels of CUDA graphs have the stacks of their capture: ``capture --python-stacks``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13
from support.from_inside import Inside
from support.pythons import interpreters, program

import cupti_etl

pytestmark = pytest.mark.slow

# Graphs of the fake driver: what a thread launches between begin() and end() is captured.
# `here` notes the line that it is called from as one whose kernels graphs replay so often.
GRAPHS = """
def function(name, result, *arguments):
    found = getattr(driver, "fakeGraph" + name)
    found.restype, found.argtypes = result, arguments
    return found
pointer, number = ctypes.c_void_p, ctypes.c_uint32
begin, create = function("Begin", pointer), function("Create", pointer)
clone, instantiate = function("Clone", pointer, pointer), function("Instantiate", pointer, pointer)
update = function("Update", ctypes.c_int, pointer, pointer)
add_kernel = function("AddKernel", ctypes.c_int, pointer, number)
add_child = function("AddChild", ctypes.c_int, pointer, pointer)
replay = function("Launch", ctypes.c_int, pointer, number)
end = function("End", None)
kernel = driver.fakeLaunch
def here(times):
    stacks.append([sys._getframe(1).f_lineno, times])
"""


def run(
    capturer: Capturer, tmp_path: Path, text: str, *options: str, release: str = CUPTI_13
) -> tuple[Capture, dict[int | None, int]]:
    """A capture of a program, and how many kernels of graphs it says that its lines have."""
    log = tmp_path / "lines.json"
    python = next(filter(None, map(interpreters().get, ("3.11", "3.12", "3.13"))), None)
    if python is None:
        pytest.skip("no Python whose stacks can be read")
    command = ["env", f"STACKS={log}", *program(python, GRAPHS + text)]
    capture = capturer.run(release, ["--python-stacks", *options], {}, command)
    assert capture.status == 0, capture.stderr
    capture.check_sums()
    said: Counter[int | None] = Counter()
    for line, times in json.loads(log.read_text()):
        said[line] += times
    return capture, dict(said)


def replayed(capture: Capture) -> dict[int | None, int]:
    """How many kernels of graphs each line has; all GPU time is of some line."""
    trace = cupti_etl.open(capture.trace)
    own = sum(row["own_gpu_ns"] for row in trace.query("python_line"))
    (everything,) = trace.sql("SELECT sum(end_ns - start_ns) AS ns FROM gpu_interval")
    assert own == everything["ns"]
    rows = trace.sql(
        "SELECT line, sum(launches)::BIGINT AS launches FROM _stack_work AS work"
        " LEFT JOIN (FROM _stack_frame WHERE is_innermost_own) AS frame"
        " ON frame.process_id = work.process_id AND frame.stack_id = work.stack_id"
        " WHERE is_graph GROUP BY line"
    )
    return {row["line"]: row["launches"] for row in rows}


@pytest.mark.parametrize("form", ["fixed", "selected"])
def test_captured_and_replayed(capturer: Capturer, tmp_path: Path, form: str) -> None:
    text = """
def step():
    here(2); kernel(0, 1, 0)
    for _ in range(3):
        here(2); kernel(0, 2, 0)
kernel(0, 1, 0)
graph = begin(); step(); end()
executable = instantiate(graph)
replay(executable, 0); replay(executable, 0)
"""
    capture, said = run(capturer, tmp_path, text, "--records", form)
    assert sum(said.values()) == 8
    assert replayed(capture) == said
    nodes = capture.rows("graph_node")
    assert Counter(node["source_graph_node_id"] is None for node in nodes) == {True: 4, False: 4}
    assert {node["kind"] for node in nodes} == {"kernel"}
    assert capture.count("kernel") == 9


def test_made_by_hand_cloned_and_put_into_another(capturer: Capturer, tmp_path: Path) -> None:
    text = """
inner = create()
here(2); add_kernel(inner, 1)
outer = create()
here(1); add_kernel(outer, 2)
add_child(outer, clone(clone(inner)))
replay(instantiate(clone(outer)), 0)
replay(instantiate(inner), 0)
"""
    capture, said = run(capturer, tmp_path, text)
    assert sum(said.values()) == 3
    assert replayed(capture) == said


def test_graphs_of_several_threads(capturer: Capturer, tmp_path: Path) -> None:
    text = """
def work():
    for _ in range(5):
        graph = begin(); here(2); kernel(0, 1, 0); end()
        executable = instantiate(graph)
        for _ in range(2): replay(executable, 0)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    capture, said = run(capturer, tmp_path, text)
    assert sum(said.values()) == 40
    assert replayed(capture) == said
    assert len({node["thread_id"] for node in capture.rows("graph_node")}) == 4


UPDATED = """
first, second = create(), create()
here(1); add_kernel(first, 1)
executable = instantiate(first)
replay(executable, 0)
here(2); add_kernel(second, 2)
assert update(executable, second) == 0
replay(executable, 0); replay(executable, 0)
"""


def test_updated(capturer: Capturer, tmp_path: Path) -> None:
    capture, said = run(capturer, tmp_path, UPDATED)
    assert replayed(capture) == said
    assert {process["detail"] for process in capture.rows("process")} == {None}


def test_an_update_that_cupti_does_not_tell_of(capturer: Capturer, tmp_path: Path) -> None:
    """CUPTI 12 has no callback for it: that the lines may be old ones is said."""
    capture, said = run(capturer, tmp_path, UPDATED, release=CUPTI_12)
    assert replayed(capture) == {min(filter(None, said)): 3}
    (process,) = capture.rows("process")
    assert process["detail"] == (
        "CUDA graphs were updated, of which this libcupti does not tell: their kernels have the "
        "lines of the first capture"
    )


def test_captured_before_the_window(capturer: Capturer, tmp_path: Path) -> None:
    """What is captured in the first steps is replayed in those that are recorded."""
    text = """
graph = begin(); here(3); kernel(0, 1, 0); end()
executable = instantiate(graph)
replay(executable, 0)
driver.fakeProfiler(1)
for _ in range(3): replay(executable, 0)
driver.fakeProfiler(0)
"""
    capture, said = run(capturer, tmp_path, text, "--capture-range", "cudaProfilerApi")
    assert replayed(capture) == said
    assert capture.count("kernel") == 3


def test_without_stacks_nothing_is_asked_of_graphs(capturer: Capturer, tmp_path: Path) -> None:
    python = [*program(str(next(iter(interpreters().values()))), GRAPHS + UPDATED)]
    command = ["env", f"STACKS={tmp_path / 'log'}", *python]
    capture = capturer.run(CUPTI_13, ["--records", "fixed"], {}, command)
    assert capture.count("graph_node") == 0
    assert capture.count("kernel") == 3
    assert [process.counters["callbacks"] for process in capture.log] == [0]


def test_captured_before_anybody_looked(inside: Inside) -> None:
    """The line is not known, and not guessed: the work is that of the line that replays."""
    text = f"""
stacks = []
driver.cuInit(0)
{GRAPHS}
graph = begin(); kernel(0, 1, 0); end()
executable = instantiate(graph)
with capture("run", python_stacks=True) as run:
    replay(executable, 0)
    later = begin(); kernel(0, 2, 0); end()
    replay(instantiate(later), 0)
    replay(instantiate(graph), 0)
tell([
    [row["is_graph"], row["launches"], row["activities"]]
    for row in run.trace.sql("FROM _stack_work ORDER BY is_graph, activities")
])
"""
    # Replays of the first are of their lines, the second replay has a line of its capture.
    assert inside(text) == [[[[False, 1, 0], [False, 1, 1], [False, 1, 1], [True, 1, 1]]]]
    trace = inside.trace("run")
    trace.check_sums()
    nodes = {row["graph_node_id"]: row["source_graph_node_id"] for row in trace.rows("graph_node")}
    assert [sum(node is None for node in nodes.values()), len(nodes)] == [1, 3]


def test_nodes_that_find_no_room_are_counted(capturer: Capturer, tmp_path: Path) -> None:
    """A collector that reads nothing for a while; a node's row has 40 bytes."""
    text = """
import signal
collector, graph = os.getppid(), create()
os.kill(collector, signal.SIGSTOP)
for _ in range(500_000): add_kernel(graph, 1)
executable = instantiate(graph)
os.kill(collector, signal.SIGCONT)
"""
    capture, _ = run(capturer, tmp_path, text, "--buffer-mb", "32", "--api", "none")
    (loss,) = capture.losses()["ring_full"]
    assert loss["table_name"] == "graph_node"
    assert loss["records"] > 0
    assert capture.count("graph_node") + loss["records"] == 1_000_000
