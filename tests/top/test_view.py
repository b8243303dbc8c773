"""The view on a terminal, driven by keys; readings are asked for, so that no clock plays a part."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.trace import add_part, write_trace
from textual.pilot import Pilot
from textual.widgets import Static

from cupti_etl.top.app import TopApp
from cupti_etl.top.reader import Reader
from cupti_etl.top.reading import RECORDING, Reading

pytestmark = pytest.mark.slow

S = 10**9
RUN = {
    "device": "process_id device_id device_uuid name\n1 0 GPU-a H200",
    "capture": "start_ns end_ns\n0 -",
    "kernel_name": "mangled demangled short\n_Za gemm(int) gemm\n_Zb relu(int) relu",
    "kernel": f"process_id device_id start_ns end_ns name\n1 0 0 {S} _Za\n1 0 {S} {4 * S} _Zb",
}
Act = Callable[[TopApp, Pilot[Any]], Awaitable[None]]


def drive(app: TopApp, act: Act, size: tuple[int, int] = (100, 30)) -> Any:
    """Run a view and do something with it; what it ended with."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await app.read()
            await pilot.pause()
            await act(app, pilot)

    asyncio.run(run())
    return app.return_value


def view(path: Path, **more: Any) -> TopApp:
    return TopApp(Reader(path), path, every_s=0, **more)


def lines(app: TopApp, part: str) -> list[str]:
    """What a part of the view shows."""
    shown = app.screen_stack[0].query_one(f"#{part}", Static)
    if not shown.display:
        return []
    text = shown.visual
    return str(text).splitlines()


def names(app: TopApp) -> list[str]:
    """The kernels that are shown, in their order."""
    return [line.split()[-1] for line in table_of(app)[1]]


def table_of(app: TopApp) -> tuple[list[str], list[str]]:
    """The words of the headings of the kernels' table, and its rows."""
    shown = lines(app, "kernels")
    at = next(at for at, line in enumerate(shown) if line.startswith("─"))
    return " ".join(shown[1:at]).split(), shown[at + 1 :]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", **RUN)


def test_what_is_shown(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        assert lines(app, "state") == [
            f'{path}: recording, 4.00 s so far; "now" is the last 4.00 s'
        ]
        assert lines(app, "losses") == []
        assert "H200" in lines(app, "gpus")[-1]
        assert lines(app, "kernels")[0] == "Kernels by time now"
        assert names(app) == ["relu", "gemm"]
        add_part(path, "kernel", f"process_id device_id start_ns end_ns name\n1 0 0 {5 * S} _Za")
        add_part(path, "loss", "process_id cause records detail\n1 ring_full 3 'too slow'")
        await app.read()
        assert "5.00 s so far" in lines(app, "state")[0]
        assert names(app) == ["gemm", "relu"]
        assert lines(app, "losses") == ["LOST 3 records: ring_full: too slow"]

    drive(view(path), act)


def test_keys_that_sort(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        seen = []
        for _ in range(5):
            await pilot.press("s")
            seen.append((lines(app, "kernels")[0], names(app)))
        assert seen == [
            ("Kernels by time", ["relu", "gemm"]),
            ("Kernels by executions", ["relu", "gemm"]),
            ("Kernels by mean", ["relu", "gemm"]),
            ("Kernels by name", ["gemm", "relu"]),
            ("Kernels by time now", ["relu", "gemm"]),
        ]
        await pilot.press("r")
        assert lines(app, "kernels")[0] == "Kernels by time now, reversed"
        assert names(app) == ["gemm", "relu"]
        await app.read()
        assert names(app) == ["gemm", "relu"]  # a reading leaves it

    drive(view(path), act)


def test_keys_that_filter(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        await pilot.press("slash", *"GEM")
        assert lines(app, "kernels")[0] == 'Kernels by time now, with "GEM": 1 of 2'
        await pilot.press("enter", "r")
        assert names(app) == ["gemm"]
        await pilot.press("slash", "q")
        assert lines(app, "kernels") == ['Kernels by time now, reversed, with "q": 0 of 2']
        await pilot.press("escape", "r")
        assert names(app) == ["relu", "gemm"]

    drive(view(path), act)


def test_help_and_the_end(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        await pilot.press("question_mark")
        assert "sort by the next column" in str(app.screen.query_one("#help", Static).visual)
        await pilot.press("q")  # closes it, and no more
        assert app.is_running
        await pilot.press("q")

    assert drive(view(path), act) is None


def test_ctrl_c(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+c")

    assert drive(view(path), act) == 2


def test_keys_while_it_reads(path: Path) -> None:
    """A reading that takes long holds up nothing."""
    let_go = threading.Event()
    reader = Reader(path)

    class Slow:
        def read(self) -> Reading:
            let_go.wait()
            return reader.read()

    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        app._source = Slow()
        app.tick()
        await pilot.press("s")
        assert lines(app, "kernels")[0] == "Kernels by time"
        app.tick()  # the first goes on, and there is no second
        let_go.set()
        await app.workers.wait_for_complete()

    drive(view(path), act)


def test_a_pause(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        await pilot.press("space")
        add_part(path, "kernel", f"process_id device_id start_ns end_ns name\n1 0 0 {9 * S} _Za")
        app.tick()
        await app.workers.wait_for_complete()
        assert lines(app, "state")[1:] == ["paused: Space goes on"]
        assert names(app) == ["relu", "gemm"]
        await pilot.press("space")
        app.tick()
        await app.workers.wait_for_complete()
        assert names(app) == ["gemm", "relu"]

    drive(view(path), act)


def test_widths(path: Path) -> None:
    """What matters less is left out where there is no room, and nothing is wider than there is."""

    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        found = {}
        for width in (200, 120, 80, 60, 40, 20, 1):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            found[width] = len(table_of(app)[0])
            parts = ("losses", "gpus", "sums", "kernels")
            widest = max(len(line) for part in parts for line in lines(app, part))
            assert widest <= width or width < 40
        assert found[200] > found[80] > found[60] > found[40]
        assert found[200] == found[120]

    long = "void at::native::a_kernel_with_a_long_name(int, float*, float const*)"
    names_ = f"mangled demangled short\n_Za '{long}' a_kernel_with_a_long_name\n_Zb relu(int) relu"
    shutil.rmtree(path)
    write_trace(path, **{**RUN, "kernel_name": names_})
    drive(view(path), act)


def test_names_that_steer_or_look_like_markup(tmp_path: Path) -> None:
    names_ = {
        "_Za": "\x1b[31mred\x07",
        "_Zb": "[bold]loud[/bold] [@click=app.leave]here[/]",
        "_Zc": "x" * (64 << 10),
        "_Zd": "right\u202eleft\nnext",
    }
    rows = "\n".join(f"1 0 {n} {n + 10} {name}" for n, name in enumerate(names_))
    path = write_trace(
        tmp_path / "run",
        capture="start_ns end_ns\n0 -",
        device="process_id device_id name\n1 0 '[red]\x1b]0;title\x07'",
        kernel=f"process_id device_id start_ns end_ns name\n{rows}",
        loss="process_id cause records detail\n1 '[u]odd[/u]' 1 'a\x1b[2Jb'",
    )
    # Cells of the tests' tables are lines of words; these are not.
    import pyarrow as pa
    from support.trace import write_part

    from cupti_etl.schema.arrow import arrow_schema

    write_part(
        path / "kernel_name" / "part-000001.parquet",
        pa.Table.from_pylist(
            [{"mangled": m, "demangled": n, "short": n} for m, n in names_.items()],
            schema=arrow_schema("kernel_name"),
        ),
    )

    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        text = "\n".join(lines(app, "kernels") + lines(app, "gpus") + lines(app, "losses"))
        assert "[bold]loud[/bold] […k=app.leave]here[/]" in text
        assert "[u]odd[/u]" in text
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
        assert max(map(len, text.splitlines())) <= 100
        picture = app.export_screenshot()
        assert "loud[/bold]" in picture.replace("&#160;", " ")

    drive(view(path), act)


def test_an_empty_trace(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "empty")

    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        assert lines(app, "state") == [f"{path}: finished after -"]
        assert lines(app, "kernels")[1:] == ["No kernels have ended."]
        await pilot.press("s", "r", "slash", "x", "escape")

    drive(view(path), act)


def test_a_trace_that_vanishes(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        shutil.rmtree(path)
        await app.read()
        assert lines(app, "state")[1] == f"there is no trace {path}"
        assert names(app) == ["relu", "gemm"]  # what is known stays
        write_trace(path, **RUN)
        await app.read()
        assert len(lines(app, "state")) == 1

    drive(view(path), act)


class Waiting:
    """Nothing is there yet."""

    def read(self) -> Reading:
        return Reading()


def test_a_command_that_left_no_trace(tmp_path: Path) -> None:
    over = False

    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        nonlocal over
        assert lines(app, "state") == [
            f"{tmp_path}: waiting for the first rows",
            f"output of the command: {tmp_path / 'run.output'}",
        ]
        over = True
        await app.read()
        assert not app.is_running or app._exit

    app = TopApp(
        Waiting(), tmp_path, every_s=0, is_over=lambda: over, output=tmp_path / "run.output"
    )
    assert drive(app, act) is None


def test_a_command_that_ended(path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        assert app._reading.state == RECORDING  # its collector was killed
        assert lines(app, "state")[1] == "the command has ended"
        await pilot.press("question_mark")
        assert "the command goes on" in str(app.screen.query_one("#help", Static).visual)

    drive(view(path, is_over=lambda: True), act)


@pytest.mark.parametrize(
    ("status", "said"),
    [(1, "with status 1"), (139, "by SIGSEGV"), (0, ""), (200, "with status 200")],
)
def test_a_command_that_failed(path: Path, status: int, said: str) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        wrong = [f"the command ended {said}; q shows its last lines"] if said else []
        assert lines(app, "losses") == wrong

    drive(view(path, is_over=lambda: True, status=lambda: status), act)


def test_what_is_lost_is_read_to_its_end(path: Path) -> None:
    detail = "the process ended without an orderly exit: what CUPTI still held is lost"
    add_part(path, "loss", f"process_id cause records detail\n1 killed - '{detail}'")

    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        told = lines(app, "losses")
        assert len(told) == 2
        assert max(map(len, told)) <= 80
        assert f"killed: {detail}" in " ".join(map(str.strip, told))

    drive(view(path), act, (80, 24))


class Ranks:
    """Eight ranks with a GPU each; of one, a step takes longer."""

    def read(self) -> Reading:
        at = range(8)
        step = {"source": "nvtx", "name": "step", "steps": 9, "median_ns": S, "current_ns": S}
        kernel = {"name": "gemm", "demangled": "gemm", "calls": 1}
        numbers = ("percent", "now_pct", "total_ns", "mean_ns")
        now = ("now_calls", "now_total_ns", "now_mean_ns")
        return Reading(
            RECORDING,
            kernels=[{**kernel, **dict.fromkeys((*numbers, *now), 1)}] * 50,
            steps=[{**step, "process_id": n, "gpu": n, "last_ns": S + (n == 5)} for n in at],
            processes=[{"process_id": n, "pid": n, "rank": n, "host": "a"} for n in at],
        )


def test_steps_of_many_ranks_leave_room_for_kernels(tmp_path: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[Any]) -> None:
        told = lines(app, "sums")
        assert "rank 5" in " ".join(told[:2])
        assert told[-1].split()[1:] == ["more,", "of", "shorter", "steps"]
        assert (
            len([line for line in told if line.startswith("Step")]) + int(told[-1].split()[0]) == 8
        )
        assert app.query_one("#list").region.height >= 8
        await pilot.press("slash")
        await pilot.pause()
        assert app.query_one("#filter").region.bottom <= 23, "beside the keys, and not below them"
        await pilot.press("escape")
        await pilot.resize_terminal(80, 60)
        await pilot.pause()
        assert len([line for line in lines(app, "sums") if "rank" in line]) == 8

    drive(TopApp(Ranks(), tmp_path, every_s=0), act, (80, 24))
