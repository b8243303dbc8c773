"""``capture --pytorch``: operators and modules of a program that is not changed, as ranges.

PyTorch itself is too large for these tests: a fake one (tests/support/fake_torch) has what is
touched of it, and the program that the launches come from is Python's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_13
from support.flushed import FLUSHED

import cupti_etl
from cupti_etl.capture.launcher import target_environment
from cupti_etl.config import CaptureOptions

pytestmark = pytest.mark.slow

_PRELUDE = """
import ctypes, os, sys, threading, time
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
def launch(name=0):
    time.sleep(1e-4)  # a call of the fake driver begins a little before it is made
    assert driver.fakeLaunch(0, name, 0) == 0
assert driver.cuInit(0) == 0
"""
MODEL = """
import torch
class Linear(torch.nn.Module):
    def forward(self):
        torch.run("aten::linear", self.multiply, sequence=7)
    def multiply(self):
        torch.run("aten::addmm", launch, sequence=7, inputs=3)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = Linear()
    def forward(self):
        self.mlp()
        launch()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()
    def forward(self):
        self.first(); self.second()
"""


class Programs:
    """Captures of programs that import the fake torch."""

    def __init__(self, capturer: Capturer) -> None:
        self._capturer = capturer
        self.folder = capturer.folder

    def __call__(
        self,
        text: str,
        options: str = "--pytorch",
        python: tuple[str, ...] = (),
        env: tuple[str, ...] = (),
        prelude: str = _PRELUDE,
    ) -> Capture:
        torch = str(self._capturer.fakes.torch())
        command = ["env", *env, sys.executable, *python, "-X", "utf8", "-c"]
        # Not by PYTHONPATH, which --pytorch makes use of.
        start = f"import sys; sys.path.insert(0, {torch!r})\n"
        words = options.split()
        capture = self._capturer.run(CUPTI_13, words, {}, [*command, start + prelude + text])
        assert "Traceback" not in capture.stderr, capture.stderr
        return capture


@pytest.fixture
def programs(capturer: Capturer) -> Programs:
    return Programs(capturer)


def ranges(capture: Capture) -> list[tuple[Any, ...]]:
    """(domain without pytorch., name, number, the range around), by their starts."""
    rows = cupti_etl.open(capture.trace).sql("""
        SELECT replace(span.domain, 'pytorch.', '') AS domain, span.name, span.payload_int,
               around.name AS around, span.end_ns
        FROM nvtx_range AS span
        LEFT JOIN nvtx_range AS around ON around.range_id = span.parent_range_id
        ORDER BY span.start_ns, span.range_id
    """)
    assert all(row["end_ns"] is not None for row in rows)
    return [(row["domain"], row["name"], row["payload_int"], row["around"]) for row in rows]


def test_operators_modules_and_sizes_of_a_program_that_is_not_changed(programs: Programs) -> None:
    done = programs(MODEL + "Net()()")
    assert done.status == 0, done.stderr
    done.check_sums()
    net = "nn.Module: Net (Net)"
    both = []
    for name in ("first", "second"):
        block, linear = f"nn.Module: Net.{name} (Block)", f"nn.Module: Net.{name}.mlp (Linear)"
        outer = 'aten::linear, sizes = [[2, 3]], types = ["float"]'
        types = '"float", "c10::complex<c10::Half>", "float"'
        inner = f"aten::addmm, sizes = [[2, 3], [2, 3], [2, 3]], types = [{types}]"
        both += [
            ("module", block, None, net),
            ("module", linear, None, block),
            ("operator", outer, 7, linear),
            ("operator", inner, 7, outer),
        ]
    assert ranges(done) == [("module", net, None, None), *both]


def test_tensors_that_compute_their_sizes_in_python_are_not_asked(programs: Programs) -> None:
    """As those that torch.compile traces with: the fake torch aborts, and PyTorch runs Python."""
    text = """
torch.run("aten::detach", launch, keys=1 << 52 | 1)
torch.run("aten::cat", launch, inputs=6, keys=1 << 40)
torch.run("detach", launch, keys=1 << 63 | 1)  # a copy of such a tensor lacks the key
torch.run("aten::mm", launch, inputs=5)
"""
    done = programs(MODEL + text)
    assert done.status == 0, done.stderr
    *others, (_, mm, *_) = ranges(done)
    assert [name for _, name, *_ in others] == ["aten::detach", "aten::cat", "detach"]
    assert mm.startswith("aten::mm, sizes = [[2, 3], ")


def test_without_the_keys_of_tensors_no_sizes_are_recorded(programs: Programs) -> None:
    done = programs(MODEL + "Net()()", env=("FAKE_TORCH_LAYOUT=keys",))
    (process,) = done.rows("process")
    assert "sizes of PyTorch's inputs are not recorded: " in process["detail"]
    names = {name for domain, name, *_ in ranges(done) if domain == "operator"}
    assert names == {"aten::linear", "aten::addmm"}


def test_the_queries_answer_as_on_imports(programs: Programs) -> None:
    text = """
def step(number):
    net()
    torch.run("autograd::engine::evaluate_function: AddmmBackward0", lambda: torch.run(
        "AddmmBackward0", launch, scope=torch.BACKWARD, sequence=7), inputs=0)
net = Net()
for number in range(3):
    torch.run(f"step {number}", lambda: step(number), scope=torch.USER)
"""
    trace = cupti_etl.open(programs(MODEL + text).trace)
    operators = {row["name"]: row for row in trace.query("operator_summary")}
    assert {
        name: (row["kind"], row["calls"], row["launches"]) for name, row in operators.items()
    } == {
        "aten::linear": ("operator", 6, 6),
        "aten::addmm": ("operator", 6, 6),
        "autograd::engine::evaluate_function: AddmmBackward0": ("operator", 3, 3),
        "AddmmBackward0": ("operator", 3, 3),
        # Two launches are of blocks, which are no operators.
        **{f"step {number}": ("annotation", 1, 5) for number in range(3)},
    }
    passes = operators["AddmmBackward0"]["gpu_ns"]
    assert passes > 0
    assert operators["aten::addmm"]["backward_gpu_ns"] == passes
    shapes = {
        (row["name"], row["input_dims"], row["input_types"])
        for row in trace.query("operator_shape")
    }
    assert ("aten::linear", "[[2, 3]]", '["float"]') in shapes
    modules = {row["path"]: row for row in trace.query("module_summary")}
    assert {
        path: (row["module"], row["calls"], row["activities"]) for path, row in modules.items()
    } == {
        "Net": ("Net", 3, 12),
        "Net.first": ("Block", 3, 6),
        "Net.first.mlp": ("Linear", 3, 3),
        "Net.second": ("Block", 3, 6),
        "Net.second.mlp": ("Linear", 3, 3),
    }
    # The last operator with the number made the pass.
    assert (
        modules["Net.second.mlp"]["backward_gpu_ns"] == modules["Net"]["backward_gpu_ns"] == passes
    )
    layers = {row["layer"]: row["kin"] for row in trace.query("nvtx_layer")}
    assert layers["Net.first (Block)"] == "Net.first (Block)"
    assert [row["name"] for row in trace.query("step_summary")] == ["step 0", "step 1", "step 2"]


@pytest.mark.parametrize(
    ("options", "domains"),
    [
        ("--pytorch=ops", {"operator"}),
        ("--pytorch=modules", {"module"}),
        ("--pytorch=modules,ops --kinds light", {"module", "operator"}),
        ("", set()),
    ],
)
def test_only_what_was_asked_for(programs: Programs, options: str, domains: set[str]) -> None:
    done = programs(MODEL + "Net()()", options)
    found = ranges(done)
    assert {domain for domain, *_ in found} == domains
    assert not any("sizes" in name for _, name, *_ in found)


def test_ranges_end_whatever_happens_inside(programs: Programs) -> None:
    text = """
class Fails(torch.nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error
    def forward(self):
        torch.run("aten::fails", self.fail)
    def fail(self):
        raise self.error
class Holds(torch.nn.Module):
    def __init__(self, error):
        super().__init__()
        self.inner = Fails(error)
    def forward(self):
        try:
            self.inner()
        except BaseException:
            pass
        torch.run("aten::after")
for error in (ValueError(), KeyboardInterrupt()):
    Holds(error)()
"""
    found = ranges(programs(MODEL + text, "--pytorch=ops,modules"))
    holds = [
        name.format("") if n == 0 else name.format("_1")
        for n in range(2)
        for name in ("nn.Module: Holds{} (Holds)",)
    ]
    assert [(name, around) for _, name, _, around in found if name == "aten::after"] == [
        ("aten::after", hold) for hold in holds
    ]


def test_threads_and_recursion_nest_on_their_own(programs: Programs) -> None:
    text = """
class Again(torch.nn.Module):
    def forward(self, depth):
        torch.run("aten::work")
        if depth: self(depth - 1)
again = Again()
def work():
    for _ in range(50): again(3)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    trace = cupti_etl.open(programs(MODEL + text, "--pytorch=ops,modules").trace)
    depths = trace.sql(
        "SELECT name, depth, count(*) AS n FROM nvtx_range GROUP BY ALL ORDER BY name, depth"
    ).arrow()
    assert depths.to_pylist() == [
        *({"name": "aten::work", "depth": depth, "n": 200} for depth in (1, 2, 3, 4)),
        *({"name": "nn.Module: Again (Again)", "depth": depth, "n": 200} for depth in (0, 1, 2, 3)),
    ]


def test_what_ends_on_another_thread_is_no_range(programs: Programs) -> None:
    text = 'torch.run("gloo:all_reduce", launch, scope=torch.USER, is_async=True)'
    assert ranges(programs("import torch\n" + text)) == []


def test_what_is_open_when_recording_begins_is_not_ended_twice(programs: Programs) -> None:
    text = """
import torch
def inside():
    driver.fakeProfiler(1)
    torch.run("aten::recorded")
    driver.fakeProfiler(0)
    torch.run("aten::not_recorded")
torch.run("aten::around", inside)
"""
    found = ranges(programs(text, "--pytorch=ops --capture-range cudaProfilerApi"))
    assert [(name, around) for _, name, _, around in found] == [("aten::recorded", None)]


@pytest.mark.parametrize(
    ("env", "detail"),
    [
        ("FAKE_TORCH_VERSION=2.99.1", "PyTorch 2.99.1 is not one of 2."),
        ("FAKE_TORCH_LAYOUT=other", "do not lie as those of versions that are known"),
    ],
)
def test_a_torch_that_is_not_known_is_refused_with_a_sentence(
    programs: Programs, env: str, detail: str
) -> None:
    done = programs(MODEL + "Net()()", env=(env,))
    (process,) = done.rows("process")
    assert "PyTorch's operators are not recorded: " in process["detail"]
    assert detail in process["detail"]
    assert {domain for domain, *_ in ranges(done)} == {"module"}


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_a_python_that_takes_no_hook_is_said(programs: Programs, flag: str) -> None:
    done = programs(MODEL + "Net()()", python=(flag,))
    (process,) = done.rows("process")
    assert "Python ran without what --pytorch puts on PYTHONPATH" in process["detail"]
    assert ranges(done) == []


def test_a_process_that_launches_nothing_lacks_nothing(programs: Programs) -> None:
    done = programs("import torch\n", python=("-I",))
    assert [row["detail"] for row in done.rows("process")] == [None]


def test_other_pythons_are_as_they_were(programs: Programs, tmp_path: Path) -> None:
    """A program without torch, with a sitecustomize of its own and its own PYTHONPATH."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys; sys.own = __file__\nx = 1\n")
    (own / "mine.py").write_text("")
    text = """
import json, os, sys
import mine, sitecustomize, csv
print(json.dumps([sys.own == sitecustomize.__file__, sitecustomize.x, sys.path[1:2],
                  [type(finder).__name__ for finder in sys.meta_path]]))
"""
    options = CaptureOptions(out=tmp_path / "trace", pytorch=("ops",))
    settings = {"CUPTI_ETL_PYTORCH": ",".join(options.pytorch)}
    env = target_environment(settings, {**os.environ, "PYTHONPATH": str(own)})
    done = subprocess.run(
        [sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True
    )
    is_own, x, path, finders = json.loads(done.stdout)
    assert (is_own, x, path) == (True, 1, [str(own)])
    assert finders[0] == "Waiting"
    assert done.stderr == ""


def test_an_error_of_the_programs_own_hook_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    done = []
    for settings in ({}, {"CUPTI_ETL_PYTORCH": "ops"}):
        env = target_environment(settings, {**os.environ, "PYTHONPATH": str(tmp_path)})
        done.append(
            subprocess.run(
                [sys.executable, "-c", "print(1)"], env=env, capture_output=True, text=True
            )
        )
    assert done[0].stderr == done[1].stderr
    assert "mine" in done[0].stderr
    assert done[0].stdout == done[1].stdout == "1\n"


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_workers_run_on_and_record_what_they_launch(
    programs: Programs, tmp_path: Path, start: str
) -> None:
    script = tmp_path / "workers.py"
    script.write_text(f"""{FLUSHED}
import ctypes, multiprocessing, sys, time
def launch():
    driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    assert driver.cuInit(0) == 0 and driver.fakeLaunch(0, 0, 0) == 0
def work(number):
    import torch
    if {start!r} == "fork":  # CUDA is no more in a forked child: it loads data
        torch.run("aten::stack")
    else:
        launch()
        torch.run("aten::mm", launch)
        flushed()  # a worker ends by _exit
    return number
if __name__ == "__main__":
    import torch
    launch()
    torch.run("aten::first", launch)
    context = multiprocessing.get_context({start!r})
    with context.Pool(2) as pool:
        assert pool.map(work, range(6)) == list(range(6))
        pool.close(); pool.join()
    torch.run("aten::last", launch)
""")
    text = f"""
import os
os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], sys.path[0]])
os.execv(sys.executable, [sys.executable, {str(script)!r}])
"""
    done = programs(text, "--pytorch=ops", prelude="")
    assert done.status == 0, done.stderr
    names = [name for _, name, *_ in ranges(done)]
    mine = [name for name in names if name in ("aten::first", "aten::last")]
    assert mine == ["aten::first", "aten::last"]
    assert names.count("aten::stack") == 0
    assert names.count("aten::mm") == (0 if start == "fork" else 6)


def test_a_part_that_is_none_is_refused(programs: Programs) -> None:
    done = programs("", "--pytorch=ops,layers", prelude="")
    assert done.status == 2
    assert "--pytorch has no part 'layers'" in done.stderr
