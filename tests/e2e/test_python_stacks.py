"""``capture --python-stacks``: the stack of each launch, as the interpreter itself tells it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.captures import Capture, Capturer, table
from support.command import etl
from support.fakes import CUPTI_13
from support.pythons import VERSIONS, interpreters, program, shared_library

pytestmark = pytest.mark.slow

STACKS = ["--python-stacks"]


def read(capture: Capture) -> list[list[list[Any]] | str]:
    """The stack of each kernel in the order of launches, or why it has none."""
    frames: dict[int, list[list[Any]]] = {}
    for row in sorted(capture.rows("python_stack"), key=lambda row: row["depth"]):
        frames.setdefault(row["stack_id"], []).append([row["function"], row["file"], row["line"]])
    stacks = {
        row["correlation_id"]: frames[row["stack_id"]] if row["stack_id"] else row["state"]
        for row in capture.rows("launch_stack")
    }
    order = sorted(row["correlation_id"] for row in capture.rows("kernel"))
    return [stacks[call] for call in order]


def run(
    capturer: Capturer, tmp_path: Path, version: str, text: str, *options: str, **fake: Any
) -> tuple[Capture, list[list[list[Any]]]]:
    """A capture of a program, and the stacks that it logged."""
    if version not in interpreters():
        pytest.skip(f"no Python {version} here")
    log = tmp_path / "stacks.json"
    command = ["env", f"STACKS={log}", *program(interpreters()[version], text)]
    capture = capturer.run(CUPTI_13, [*STACKS, *options], fake, command)
    assert capture.status == 0, capture.stderr
    capture.check_sums()
    return capture, json.loads(log.read_text())


# All that a frame can be: functions, methods, closures, lambdas, comprehensions, generators,
# coroutines, calls from C, recursion, code made at run time, other alphabets, other threads.
FRAMES = """
import asyncio, functools
class Layer:
    def __call__(self, depth):
        return self.forward(depth)
    def forward(self, depth):
        if depth: self(depth - 1)
        else: launch()
Layer()(3)
def generator():
    for _ in range(2):
        launch(); yield
def delegating():
    yield from generator()
list(delegating())
(lambda: launch(1))()
[launch(2) for _ in range(2)]
async def inner():
    await asyncio.sleep(0); launch()
async def outer():
    await asyncio.gather(inner(), inner())
asyncio.run(outer())
sorted([1, 2], key=lambda item: [launch(), item][1])
functools.reduce(lambda a, b: launch(), [1, 2, 3])
back = ctypes.CFUNCTYPE(None)(lambda: launch())
back()
def größe_δ():
    launch()
größe_δ()
for line in range(200):
    exec(compile("\\n" * line + "launch()", f"<made {line % 7}>", "exec"))
exec(compile("def \U0001d4bb(): launch()\\n\U0001d4bb()", "/tmp/\u65e5\u672c.py", "exec"))
def many(
    *arguments
):
    return (
        launch(),
        [
            launch()
            for _ in range(1)
        ],
    )
many(1,
     2)
threads = [threading.Thread(target=lambda: [launch() for _ in range(50)]) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
try:
    raise ValueError
except ValueError:
    launch()
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_launch_has_the_stack_that_python_tells(
    capturer: Capturer, tmp_path: Path, version: str
) -> None:
    capture, logged = run(capturer, tmp_path, version, FRAMES)
    assert len(logged) > 400
    assert read(capture) == logged
    assert {row["state"] for row in capture.rows("launch_stack")} == {"whole"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stack_that_is_too_deep_keeps_its_innermost_frames(
    capturer: Capturer, tmp_path: Path, version: str
) -> None:
    text = """
sys.setrecursionlimit(3000)
def down(n):
    if n: down(n - 1)
    else: launch()
for depth in (250, 253, 254, 400, 1000): down(depth)
"""
    capture, logged = run(capturer, tmp_path, version, text)
    # The prelude logs as many frames as are kept.
    assert [len(stack) for stack in logged] == [253, 256, 256, 256, 256]
    assert read(capture) == logged
    rows = sorted(capture.rows("launch_stack"), key=lambda row: row["correlation_id"])
    assert [row["state"] for row in rows] == ["whole", "whole", "cut", "cut", "cut"]


def test_names_that_are_no_text(capturer: Capturer, tmp_path: Path) -> None:
    """A lone surrogate, as os.fsdecode makes it of bytes that are not UTF-8."""
    text = r"""
exec(compile("launch()", "/tmp/\udcff.py", "exec"))
exec(compile("launch()", "f" * 5000, "exec"))
"""
    capture, _ = run(capturer, tmp_path, "3.12", text)
    files = [stack[1][1] for stack in read(capture)]
    assert files == ["/tmp/\ufffd.py", "f" * 4093]


PLAIN = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
assert driver.cuInit(0) == 0
for _ in range(7): driver.fakeLaunch(0, 0, 0)
"""


def test_an_interpreter_that_is_not_known_is_refused_with_a_sentence(capturer: Capturer) -> None:
    older = [path for version, path in interpreters().items() if version in ("3.10", "3.9", "3.8")]
    if not older:
        pytest.skip("no Python before 3.11 here")
    capture = capturer.run(CUPTI_13, STACKS, command=[older[0], "-c", PLAIN])
    assert capture.status == 0
    assert capture.count("kernel") == 7
    capture.check_sums()
    assert [row["state"] for row in capture.rows("launch_stack")] == ["unreadable"] * 7
    assert capture.count("python_stack") == 0
    (process,) = capture.rows("process")
    assert process["detail"] == (
        "Python stacks are read of CPython 3.11, 3.12, 3.13, 3.14 and 3.15 as it is released, "
        "not of this one (before 3.11)"
    )


def test_programs_without_python(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, STACKS, launches=500, copy_every=7, threads=3)
    assert {row["state"] for row in capture.rows("launch_stack")} == {"no_python"}
    assert capture.count("launch_stack") == capture.count("kernel") == 1500
    capture.check_sums()


def test_threads_that_python_does_not_know_and_those_that_run_none_of_it(
    capturer: Capturer, tmp_path: Path
) -> None:
    """A C thread, and one that Python knows and that runs no Python, as autograd's do."""
    text = """
import subprocess
source = os.path.join(os.path.dirname(os.environ["STACKS"]), "threads.c")
open(source, "w").write('''
#include <pthread.h>
static int (*launch)(unsigned, unsigned, unsigned);
static void *(*ensure)(void), *(*save)(void);
static void *foreign(void *unused) { for (int i = 0; i < 3; i++) launch(0, 0, 0); return unused; }
static void *known(void *unused) { ensure(); save(); return foreign(unused); }
static void run(void *(*work)(void *)) {
    pthread_t thread; pthread_create(&thread, 0, work, 0); pthread_join(thread, 0);
}
void go(void *l, void *e, void *s) { launch = l; ensure = e; save = s; run(foreign); run(known); }
''')
subprocess.run(["cc", "-shared", "-fPIC", "-o", source + ".so", source, "-lpthread"], check=True)
pointer = lambda function: ctypes.cast(function, ctypes.c_void_p)
ctypes.CDLL(source + ".so").go(
    pointer(driver.fakeLaunch),
    pointer(ctypes.pythonapi.PyGILState_Ensure),
    pointer(ctypes.pythonapi.PyEval_SaveThread),
)
"""
    capture, _ = run(capturer, tmp_path, "3.12", text)
    assert read(capture) == ["no_python"] * 3 + ["no_frames"] * 3


def test_which_calls_have_stacks(capturer: Capturer) -> None:
    text = PLAIN + "for _ in range(3): driver.fakeMemcpy(0, ctypes.c_uint64(64))\n"
    for options, calls in ((STACKS, 7), (["--python-stacks=copies"], 10), ([], 0)):
        capture = capturer.run(CUPTI_13, options, command=[sys.executable, "-c", text])
        assert capture.count("launch_stack") == calls
        assert capture.count("kernel") + capture.count("memcpy") == 10
        capture.check_sums()


def test_only_what_is_recorded_has_a_stack(capturer: Capturer, tmp_path: Path) -> None:
    text = """
for start in (1, 0):
    launch()
    driver.fakeProfiler(start)
    launch(); launch()
"""
    capture, logged = run(capturer, tmp_path, "3.12", text, "--capture-range", "cudaProfilerApi")
    assert capture.count("kernel") == 3
    assert read(capture) == logged[1:4]


def test_children_that_are_executed_and_those_that_are_forked(
    capturer: Capturer, tmp_path: Path
) -> None:
    text = """
launch()
if os.fork() == 0:
    launch(); os._exit(0)
os.wait()
if "CHILD" not in os.environ:
    import subprocess
    env = {**os.environ, "STACKS": "/dev/null", "CHILD": "1"}
    subprocess.run([sys.executable, *sys.orig_argv[1:]], check=True, env=env)
"""
    capture, logged = run(capturer, tmp_path, "3.12", text)
    assert capture.count("process") == 2
    assert capture.count("launch_stack") == capture.count("kernel") == 2
    rows = capture.rows("python_stack")
    assert len({row["process_id"] for row in rows}) == 2
    # The child runs the same text.
    assert {(row["function"], row["line"]) for row in rows} == {(f[0], f[2]) for f in logged[0]}


def test_a_choice_that_is_none(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, ["--python-stacks=kernels"], launches=1)
    assert capture.status == 2
    assert "--python-stacks 'kernels' names no calls" in capture.stderr


EMBEDDING = """
#include <dlfcn.h>
static int (*launch)(unsigned, unsigned, unsigned);
static void *(*none)(const char *);
static void *from_python(void *self, void *unused) { launch(0, 0, 0); return none(""); }
static struct { const char *name; void *(*f)(void *, void *); int flags; const char *doc; }
    method = { "launch", from_python, 4, 0 };
int main(int count, char **words) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(unsigned) = dlsym(driver, "cuInit"), result = init(0);
    launch = dlsym(driver, "fakeLaunch");
    launch(0, 0, 0);
    void *python = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    void (*begin)(void) = dlsym(python, "Py_Initialize");
    int (*run)(const char *) = dlsym(python, "PyRun_SimpleString");
    int (*end)(void) = dlsym(python, "Py_FinalizeEx");
    void *(*module)(const char *) = dlsym(python, "PyImport_AddModule");
    void *(*function)(void *, void *, void *) = dlsym(python, "PyCFunction_NewEx");
    int (*set)(void *, const char *, void *) = dlsym(python, "PyObject_SetAttrString");
    none = dlsym(python, "PyUnicode_FromString");
    begin();
    set(module("__main__"), "launch", function(&method, 0, 0));
    result |= run("import time\\ndef work():\\n launch()\\n"
                  "for _ in range(100):\\n time.sleep(0.01); work()\\n");
    end();
    launch(0, 0, 0);
    return result;
}
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_an_interpreter_that_a_program_loads_for_itself(
    capturer: Capturer, tmp_path: Path, version: str
) -> None:
    """It comes after CUDA was initialised, and goes before the program's end."""
    found = shared_library(interpreters().get(version, sys.executable))
    if version not in interpreters() or found is None:
        pytest.skip(f"no library of Python {version} here")
    library, home = found
    source, embedding = tmp_path / "embedding.c", tmp_path / "embedding"
    source.write_text(EMBEDDING)
    subprocess.run(["cc", "-w", "-o", embedding, source, "-ldl"], check=True)
    options = [*STACKS, "--flush-ms", "10"]
    command = ["env", f"PYTHONHOME={home}", str(embedding), str(library)]
    capture = capturer.run(CUPTI_13, options, command=command)
    assert capture.status == 0, capture.stderr
    first, *inside, last = read(capture)
    # Python is looked for at each flush.
    found = [stack for stack in inside if stack != "no_python"]
    assert found
    assert inside == ["no_python"] * (100 - len(found)) + found
    work = [["work", "<string>", 3], ["<module>", "<string>", 5]]
    assert found == [work] * len(found)
    assert (first, last) == ("no_python", "unreadable")
    capture.check_sums()


def test_greenlets(capturer: Capturer, tmp_path: Path) -> None:
    pytest.importorskip("greenlet")
    text = f"""
sys.path += {sys.path!r}
from greenlet import getcurrent, greenlet
def inner(other):
    launch(); other.switch(); launch()
def outer():
    me = getcurrent()
    inside = greenlet(inner)
    inside.switch(me); launch(); inside.switch(); launch()
greenlet(outer).switch()
"""
    version = f"3.{sys.version_info[1]}"
    capture, logged = run(capturer, tmp_path, version, text)
    assert len(logged) == 4
    assert read(capture) == logged


def test_a_recording_holds_the_stacks(capturer: Capturer, tmp_path: Path) -> None:
    text = """
def f(): launch()
for _ in range(3): f(); launch()
"""
    recording, imported = tmp_path / "run.etlrec", tmp_path / "imported"
    capture, logged = run(capturer, tmp_path, "3.12", text, "--save-raw", str(recording))
    done = etl("import", recording, "-o", imported)
    assert done.returncode == 0, done.stderr
    for name in ("launch_stack", "python_stack"):
        rows, again = (
            sorted(each.to_pylist(), key=str)
            for each in (table(capture.trace, name), table(imported, name))
        )
        assert rows == again
        assert rows
    assert read(capture) == logged
