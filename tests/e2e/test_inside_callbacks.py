"""``cupti_etl.callbacks()``: a function of the program that CUPTI's callbacks are handed to."""

from __future__ import annotations

from typing import Any

import pytest
from support.fakes import CUPTI_12, CUPTI_13
from support.from_inside import Inside

# ``callbacks`` with the fake CUPTI; ``rows`` of the batches that ``gather`` got.
PRELUDE = """
import threading
OPTIONS = json.loads(os.environ["OPTIONS"])
callbacks = functools.partial(cupti_etl.callbacks, cupti=OPTIONS["cupti"])
rows, events, threads = [], [], set()
def gather(batch):
    threads.add(threading.current_thread().name)
    rows.extend(batch.to_pylist())
def note(event):
    threads.add(threading.current_thread().name)
    events.append(event)
def known(row):
    return {key: value for key, value in row.items() if value is not None}
driver.fakeMemcpy.argtypes = ctypes.c_uint32, ctypes.c_uint64
"""
# A driver that serves one CUPTI client; the newer ones serve several.
OLDER = {"driver_version": 13000}


@pytest.fixture
def program(inside: Inside) -> Any:
    """What a program tells that has the prelude."""

    def run(text: str, *args: Any, **kwargs: Any) -> list[Any]:
        return inside(PRELUDE + text, *args, **kwargs)

    run.inside = inside  # type: ignore[attr-defined]
    return run


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
@pytest.mark.parametrize("is_early", [True, False], ids=["before cuInit", "after cuInit"])
def test_batches_hold_every_call(program: Any, release: str, is_early: bool) -> None:
    before, after = (
        ("", "driver.cuInit(0)") if is_early else ("driver.cuInit(0); launch(3)", "pass")
    )
    ((count, names, named, callbacks, lost, first),) = program(
        f"""
{before}
with callbacks("driver", ["cuLaunch*", "cuMemcpyAsync"], gather) as watched:
    {after}
    launch(2000, name=9)
    driver.fakeMemcpy(2, 5_000_000_000)
launch(5)
named = {{row["function"] for row in rows}}
tell(len(rows), sorted(threads), sorted(named), watched.callbacks, watched.lost, known(rows[0]))
""",
        release,
    )
    assert (count, callbacks, lost) == (2001, 4002, 0)
    assert names == ["cupti-etl callbacks"]
    assert named == ["cuLaunchKernel", "cuMemcpyAsync"]
    assert first["symbol"] == "_ZN4fake5space8kernel_9EPKfPfi"
    assert [first[f"grid_{axis}"] for axis in "xyz"] == [10, 2, 3]
    assert [first[f"block_{axis}"] for axis in "xyz"] == [128, 4, 1]
    assert first["domain"] == "driver"
    assert first["start_ns"] <= first["end_ns"]


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_in_line_each_callback_is_an_event_on_the_calling_thread(
    program: Any, release: str
) -> None:
    text = """
driver.cuInit(0)
with callbacks("runtime", "cudaMemcpyAsync", note, inline=True) as watched:
    launch(3)
    for size in (100, 200):
        driver.fakeMemcpy(2, size)
tell(sorted(threads), [[e.site, e.bytes, e.copy_kind, e.stream, e.result] for e in events])
enter, leave, *_ = events
tell(enter.function, enter.domain, enter.end_ns, leave.start_ns == enter.start_ns,
     leave.end_ns >= leave.start_ns, enter.correlation_id == leave.correlation_id,
     enter.grid, enter.symbol, enter.message, repr(leave), watched.callbacks)
try: enter.nothing
except AttributeError as error: tell(str(error))
"""
    who, what, error = program(text, release)
    assert who == [
        ["MainThread"],
        [
            ["enter", 100, "DtoH", 0x2000, None],
            ["exit", 100, "DtoH", 0x2000, 0],
            ["enter", 200, "DtoH", 0x2000, None],
            ["exit", 200, "DtoH", 0x2000, 0],
        ],
    ]
    assert what[:3] == ["cudaMemcpyAsync", "runtime", None]
    assert what[3:9] == [True, True, True, None, None, None]
    assert what[9:] == ["<callback runtime:cudaMemcpyAsync exit>", 4]
    assert error == ["a callback event has no 'nothing'"]


@pytest.mark.slow
@pytest.mark.parametrize("records", ["fixed", "selected"])
@pytest.mark.parametrize("fake", [OLDER, {}], ids=["one client", "several clients"])
def test_a_capture_beside_them_changes_neither(
    program: Any, records: str, fake: dict[str, Any]
) -> None:
    """One begins before the capture and ends after it, one inside of it, one in line."""
    text = f"""
OPTIONS["records"] = {records!r}
capture = functools.partial(cupti_etl.capture, **OPTIONS)
driver.cuInit(0)
inner = []
outer = callbacks("driver", "cuLaunchKernel", gather).start()
launch(10)
with capture("run", callbacks="driver:cuLaunchKernel", python_stacks=True) as run:
    launch(100)
    with callbacks("driver", "cuLaunchKernel", lambda batch: inner.extend(batch.to_pylist())):
        with callbacks("driver", "cuLaunchKernel", note, inline=True):
            launch(1000)
    launch(200)
launch(20)
outer.stop()
launch(5)
tell(len(rows), len(inner), len(events), run.problem)
with capture("again"):
    launch(500)
"""
    assert program(text, fake=fake) == [[1330, 1000, 2000, None]]
    trace = program.inside.trace("run")
    counts = [trace.count(name) for name in ("kernel", "callback_event", "launch_stack")]
    assert counts == [1300, 1300, 1300]
    trace.check_sums()
    assert not trace.losses()
    again = program.inside.trace("again")
    assert (again.count("kernel"), again.count("callback_event")) == (500, 0)
    assert not again.losses()


@pytest.mark.parametrize("inline", [False, True])
def test_four_threads(program: Any, inline: bool) -> None:
    text = f"""
driver.cuInit(0)
seen = collections.Counter()
def count(what):
    seen["callbacks"] += 1 if {inline} else what.num_rows
workers = [threading.Thread(target=launch, args=(3000,)) for _ in range(4)]
with callbacks("driver", "cuLaunchKernel", count, inline={inline}) as watched:
    for worker in workers: worker.start()
    for worker in workers: worker.join()
tell(seen["callbacks"], watched.callbacks, watched.lost)
"""
    assert program("import collections\n" + text) == [[24000 if inline else 12000, 24000, 0]]


@pytest.mark.parametrize("inline", [False, True])
def test_stop_inside_of_the_function(program: Any, inline: bool) -> None:
    text = f"""
driver.cuInit(0)
def once(what):
    events.append(what)
    watched.stop()
watched = callbacks("driver", "cuLaunchKernel", once, inline={inline}).start()
launch(10)
until = time.monotonic() + 20
while watched._number and time.monotonic() < until:
    time.sleep(0.01)
launch(10)
tell(len(events), watched._number, repr(watched).endswith("(over)>"))
with callbacks("driver", "cuLaunchKernel", gather):  # nothing is in the way of another
    launch(7)
tell(len(rows))
"""
    assert program(text) == [[1, 0, True], [7]]


@pytest.mark.slow
@pytest.mark.parametrize("inline", [False, True])
def test_what_the_function_raises_is_reported_and_cuda_goes_on(program: Any, inline: bool) -> None:
    text = f"""
driver.cuInit(0)
def fail(what):
    time.sleep(0 if {inline} else 0.06)
    raise ValueError("mine")
with callbacks("driver", "cuLaunchKernel", fail, inline={inline}) as watched:
    launch(2)
tell(watched.errors)
hooked = []
sys.unraisablehook = lambda problem: hooked.append([str(problem.exc_value), problem.object is fail])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with callbacks("driver", "cuLaunchKernel", fail, inline=True) as watched:
        launch(20)
tell(watched.errors, hooked[0], len(hooked), [str(each.message).split("> ")[-1] for each in caught])
"""
    ((errors,), hooked) = program(text)
    assert errors == (4 if inline else 1)
    assert hooked == [40, ["mine", True], 10, ["failed 40 times"]]
    assert program.inside.stderr.count("ValueError: mine") == errors
    assert "in a function that CUPTI's callbacks are handed to" in program.inside.stderr


def test_a_forked_child_has_none(program: Any) -> None:
    text = """
driver.cuInit(0)
def told(what):
    print(json.dumps(["told", os.getpid()]), flush=True)
with callbacks("driver", "cuLaunchKernel", told, inline=True), \\
     callbacks("driver", "cuLaunchKernel", gather) as watched:
    child = os.fork()
    if child == 0:
        driver.fakeLaunch(0, 0, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tell(["child", repr(watched)])
        sys.exit(0)
    tell(["status", os.waitpid(child, 0)[1]])
    launch(1)
tell(["rows", len(rows), os.getpid()])
"""
    told = program(text)
    parent = told[-1][0][2]
    assert told[0] == [["child", "<cupti_etl.callbacks driver:cuLaunchKernel (over)>"]]
    assert told[1] == [["status", 0]]
    assert told[2:] == [["told", parent], ["told", parent], [["rows", 1, parent]]]


def test_what_is_too_much_is_counted(program: Any) -> None:
    text = """
driver.cuInit(0)
def slow(batch):
    gate.wait()
    rows.append(batch.num_rows)
gate = threading.Event()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    watched = callbacks("driver", "cuLaunchKernel", slow).start()
    for _ in range(400_000): driver.fakeLaunch(0, 0, 0)
    gate.set()
    watched.stop()
tell(sum(rows) + watched.lost, watched.lost > 0, [each.category.__name__ for each in caught])
"""
    assert program(text) == [[400_000, True, ["CallbackWarning"]]]


def test_other_domains(program: Any) -> None:
    text = """
with callbacks("resource", fn=gather), callbacks("synchronize", None, gather):
    driver.cuInit(0)
    driver.fakeLaunch(4, 0, 0)
    driver.fakeSynchronize()
tell(sorted([row["domain"], row["function"], row["stream"], row["end_ns"]] for row in rows))
with callbacks("resource", "STREAM_CREATED", note, inline=True):
    driver.fakeLaunch(5, 0, 0)
tell([[e.site, e.object, e.domain] for e in events])
"""
    assert program(text) == [
        [
            [
                ["resource", "CONTEXT_CREATED", None, None],
                ["resource", "CU_INIT_FINISHED", None, None],
                ["resource", "STREAM_CREATED", 0x4000, None],
                ["synchronize", "CONTEXT_SYNCHRONIZED", 0, None],
            ]
        ],
        [[["moment", 0x5000, "resource"]]],
    ]


REFUSED = {
    'callbacks("drivers", fn=gather)': "UsageError: there is no callback domain 'drivers'",
    'callbacks("driver", "cuLunchKernel", gather).start()': (
        "UsageError: there is no callback 'cuLunchKernel' in the domain driver"
    ),
    'callbacks("driver")': "UsageError: callbacks() needs a function",
    'callbacks("driver", [], gather)': "UsageError: callbacks() has no names",
    'callbacks("driver", fn=gather, buffer_mb=1)': "UsageError: buffer_mb=1 cannot be",
    'callbacks("driver", fn=gather).stop()': "UsageError: these callbacks are not running",
    'one = callbacks("driver", fn=gather).start(); one.start()': (
        "UsageError: these callbacks were started already"
    ),
    'one = callbacks("driver", fn=gather).start(); one.stop(); one.stop()': (
        "UsageError: these callbacks are not running"
    ),
    'all = [callbacks("state", fn=gather).start() for _ in range(17)]': (
        "CaptureError: callbacks cannot be had: 16 sets of callbacks are on already"
    ),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_be_is_said_and_the_program_goes_on(program: Any, code: str) -> None:
    text = f"""
driver.cuInit(0)
try:
    {code}
except cupti_etl.EtlError as error:
    tell(f"{{type(error).__name__}}: {{error}}", error.hint != "")
launch(1)
"""
    ((said, has_hint),) = program(text)
    assert said.startswith(REFUSED[code]), said
    assert has_hint


@pytest.mark.parametrize(
    "code", ['callbacks("driver", fn=gather)', 'capture("run", python_stacks=True)']
)
def test_another_client_has_the_subscription(program: Any, code: str) -> None:
    text = f"""
driver.cuInit(0)
try:
    {code}.start()
except cupti_etl.CaptureError as error:
    tell(str(error))
"""
    ((said,),) = program(text, fake={"other_client": 1})
    assert "need CUPTI's one subscription, and another profiler has it" in said


def test_others_live_beside_them_where_cupti_can_serve_several(program: Any) -> None:
    """Another client subscribes with the second interface while callbacks are on."""
    text = """
driver.cuInit(0)
cupti = ctypes.CDLL(OPTIONS["cupti"])
class Params(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("old", ctypes.c_char_p),
                ("old_size", ctypes.c_size_t), ("several", ctypes.c_uint8),
                ("rest", ctypes.c_uint8 * 7)]
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
other = callback(lambda *_: None)
def subscribe():
    handle, params = ctypes.c_void_p(), Params(size=ctypes.sizeof(Params), name=b"other", several=1)
    return cupti.cuptiSubscribe_v2(ctypes.byref(handle), other, None, ctypes.byref(params))
with callbacks("driver", "cuLaunchKernel", gather):
    tell(subscribe())
    launch(10)
tell(len(rows))
"""
    assert program(text) == [[0], [10]]
    assert program(text, fake=OLDER) == [[39], [10]]


def test_a_subscription_that_another_client_ended_is_made_anew(program: Any) -> None:
    """As PyTorch's profiler does with TEARDOWN_CUPTI: cuptiFinalize, for all."""
    text = """
driver.cuInit(0)
outer = callbacks("driver", "cuLaunchKernel", gather).start()
launch(10)
ctypes.CDLL(OPTIONS["cupti"]).cuptiFinalize()
launch(10)
with callbacks("driver", "cuLaunchKernel", note, inline=True):
    launch(10)
outer.stop()
with callbacks("driver", "cuLaunchKernel", note, inline=True):
    launch(1)
tell(len(rows), len(events))
"""
    assert program(text, CUPTI_12) == [[20, 22]]
