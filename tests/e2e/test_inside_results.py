"""What a capture answers at once, and a cell of a notebook."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from support.from_inside import Inside

# GMP's example: a range of work, a function by decorator, a range of memory, then what they were.
_WORK = """
driver.cuInit(0)
@cupti_etl.range("matrix_multiply")
def multiply():
    launch(3)
with capture("run", kinds="default,memory") as run:
    with cupti_etl.range("my_operations"):
        launch(2)
        multiply()
    with cupti_etl.range("memory_ops"):
        settle()
        driver.fakeMalloc(ctypes.c_uint64(4096))
"""
_SETTLE = """
def settle():
    until = time.time_ns() + 1000
    while time.time_ns() < until:
        pass
"""


@pytest.mark.slow
def test_the_example_of_gmp_gives_its_row(inside: Inside) -> None:
    text = f"""{_SETTLE}{_WORK}
tell(*[(row["path"], row["ranges"], row["kernels"]) for row in run.ranges()])
longest = {{row["path"]: row["gpu_ns"] for row in run.ranges(reduction="max")}}
mean = {{row["path"]: row["gpu_ns"] for row in run.ranges(reduction="mean")}}
total = {{row["path"]: row["gpu_ns"] for row in run.ranges()}}
tell([0 < mean[path] <= longest[path] <= total[path] for path in total])
tell([(r["path"], r["allocations"], r["allocated_bytes"]) for r in run.memory("memory_ops")])
tell(run.memory("my_operations").count(), run.memory().count())
run.ranges().save("ranges.csv")
run.memory().save("memory.parquet")
sys.stdout = sys.stderr
run.ranges().show()
"""
    ranges, reductions, (memory,), others = inside(text)
    assert sorted(map(tuple, ranges)) == [
        ("my_operations", 1, 5),
        ("my_operations / matrix_multiply", 1, 3),
    ]
    assert reductions == [[True, True]]
    assert memory == [["memory_ops", 1, 4096]]
    assert others == [0, 1]
    assert "matrix_multiply" in inside.stderr
    assert "5 " in inside.stderr
    with (inside.folder / "ranges.csv").open() as file:
        assert [row["kernels"] for row in csv.DictReader(file)] == ["5", "3"]
    assert (inside.folder / "memory.parquet").exists()


@pytest.mark.slow
def test_metrics_are_columns_of_ranges(inside: Inside) -> None:
    text = """
driver.cuInit(0)
with capture("run", pm="overview", pm_interval="20us") as run:
    with cupti_etl.range("work"):
        for _ in range(200):
            launch(1)
            time.sleep(0.001)
tell(run.trace.sql("SELECT pm_state FROM capture").arrow().to_pylist())
rows = run.ranges(metrics=["sm_active_pct"], reduction="mean")
tell(*rows.columns)
tell([row["kernels"] for row in rows])
tell(run.ranges(metrics="sm_active_pct", reduction="mean").columns == rows.columns)
for wrong in ({"metrics": ["sm_active"]}, {"metrics": ["sm_active_pct"]}, {"reduction": "median"}):
    try:
        run.ranges(**wrong)
    except cupti_etl.UsageError as error:
        tell(str(error))
"""
    _, columns, (kernels,), (is_same,), *said = inside(text)
    assert is_same
    assert columns[-1] == "sm_active_pct"
    assert kernels == [200]
    assert said == [
        ["the trace has no metric 'sm_active'"],
        ["sm_active_pct is no count, and has no sum over kernels"],
        ["there is no reduction 'median'"],
    ]


_CELL = """
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_line_magic("load_ext", "cupti_etl")
shell.user_ns["launch"], shell.user_ns["driver"] = launch, driver
line = "--cupti=" + json.loads(os.environ["OPTIONS"])["cupti"] + " --records fixed"
driver.cuInit(0)
import tempfile
tempfile.tempdir = os.getcwd()
"""


@pytest.mark.slow
def test_a_cell_says_what_it_did(inside: Inside) -> None:
    text = f"""{_CELL}
sys.stdout, out = sys.stderr, sys.stdout
shell.run_cell_magic("gpu", line, "launch(7); driver.fakeMalloc(4096); answer = 42")
sys.stdout = out
run = shell.user_ns["_gpu"]
tell(shell.user_ns["answer"], str(run.path), run.trace.sql("FROM kernel").count())
sys.stdout = sys.stderr
shell.run_cell_magic("gpu", line, "raise ValueError('mine')")
shell.run_cell_magic("gpu", line + " -o here", "launch(1)")
sys.stdout = out
tell(shell.user_ns["_gpu"].path.name)
for wrong in ("run42", "--kind=kernel", "-o here"):
    try:
        shell.run_cell_magic("gpu", f"{{line}} {{wrong}}", "never = 1")
    except Exception as error:
        tell(type(error).__name__, str(error))
tell("never" in shell.user_ns)
tell(*sorted(entry.name for entry in os.scandir() if entry.name.startswith("cupti-etl-")))
"""
    (answer, path, kernels), (name,), *wrong, (ran,), folders = inside(text)
    assert (answer, kernels, name) == (42, 7, "here")
    assert Path(path).exists()
    assert len(folders) == 2, "one of each cell that ran without -o"
    said = inside.stderr
    assert re.search(rf" on the clock; trace: {path}\n", said), said
    assert "Fake GPU" in said
    assert "memory: 1 allocation of 4" in said
    assert "ValueError: mine" in said
    assert "nothing ran on a GPU" in said
    assert not ran
    assert [kind for kind, _ in wrong] == ["UsageError"] * 3
    assert wrong[0][1] == "%%gpu takes options of `cupti-etl capture`, not 'run42'"
    assert wrong[1][1].startswith("No such option '--kind'")
    assert wrong[2][1].startswith("here exists already")
