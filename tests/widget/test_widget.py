"""The widget in Python: its traits, the part that is chosen, and where it cannot be made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.waiting import wait_until

from cupti_etl.api import Trace
from cupti_etl.errors import UsageError
from cupti_etl.jupyter import timeline

pytestmark = pytest.mark.skipif(
    not find_spec("anywidget"), reason="the extra jupyter is not installed"
)


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script stands in for the built one, which Python only passes on."""
    place = tmp_path / "widget.js"
    place.write_text("export default { render() {} };\n")
    monkeypatch.setattr("cupti_etl.serve.built.WIDGET", place)
    monkeypatch.setattr("cupti_etl.jupyter.WIDGET", place)


@pytest.fixture
def make(trace: Trace) -> Iterator[Any]:
    with ExitStack() as stack:

        def begin(**options: Any) -> Any:
            widget = timeline(trace, **options)
            stack.callback(widget.close)
            return widget

        yield begin


def heard(widget: Any, message: object) -> list[tuple[Any, Any]]:
    """What the widget sends after a message of its view."""
    sent: list[tuple[Any, Any]] = []
    widget._answers._send = lambda *told: sent.append(told)
    widget._handle_custom_msg(message, [])
    wait_until(lambda: sent)
    return sent


def test_questions_come_as_messages(make: Any) -> None:
    ((content, (stream,)),) = heard(make(), {"id": "1", "name": "kernel"})
    assert content == {"id": "1"}
    assert pa.ipc.open_stream(stream).read_all().num_rows == 3
    make()._handle_custom_msg("nothing of ours", [])


def test_widgets_of_one_trace(make: Any) -> None:
    first, second = make(), make()
    first.close()
    ((content, _),) = heard(second, {"id": "1", "sql": "SELECT 1"})
    assert content == {"id": "1"}


def test_the_chosen_part(make: Any) -> None:
    widget = make()
    with widget.scope() as whole:
        assert whole.sql("SELECT count(*) AS n FROM kernel").arrow().to_pylist() == [{"n": 3}]
    widget.range = (500_000, 1_000_000)
    with widget.scope() as part:
        (row,) = part.query("kernel_summary")
        assert (row["name"], row["calls"]) == ("copy", 1)
    with pytest.raises(UsageError, match="no GPU"):
        widget.scope(gpu=5)


def test_a_part_at_first(make: Any) -> None:
    widget = make(range=(0, 100), height=300)
    state = widget.get_state()
    assert (state["range"], state["window"], state["selection"]) == ((0, 100), None, None)
    assert state["height"] == 300


def test_the_view_sets_the_traits(make: Any) -> None:
    widget = make()
    seen: list[object] = []
    widget.observe(lambda change: seen.append(change["new"]), ["range", "selection"])
    widget.set_state({"range": [5, 9]})
    widget.set_state({"selection": {"lane": 1, "depth": 0, "start_ns": 600_000}})
    assert seen == [(5, 9), {"lane": 1, "depth": 0, "start_ns": 600_000}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("range", (9, 5)),
        ("range", (-1, 5)),
        ("range", (1.5, 3)),
        ("range", (1, 2, 3)),
        ("window", (3, 3)),
        ("selection", {"lane": 1}),
        ("selection", {"lane": "x", "depth": 0, "start_ns": 0}),
        ("height", 3),
    ],
)
def test_what_cannot_be_is_refused(make: Any, name: str, value: object) -> None:
    from traitlets import TraitError

    widget = make()
    with pytest.raises(TraitError):
        setattr(widget, name, value)


def test_nothing_of_the_trace_is_in_the_notebook(make: Any) -> None:
    # Of the program itself, which knows names of kinds of kernels, there is enough elsewhere.
    left_out = ("layout", "_esm")
    state = {key: value for key, value in make().get_state().items() if key not in left_out}
    assert "gemm" not in str(state)
    assert "run42" not in str(state)


def test_what_is_left_of_it_in_a_converted_notebook(make: Any) -> None:
    assert repr(make()) == "<timeline of run42; run the cell to see it>"


def test_no_anywidget(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="anywidget is not installed") as raised:
        timeline(trace)
    assert "cupti-etl[jupyter]" in raised.value.hint


def test_not_built(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cupti_etl.jupyter.WIDGET", tmp_path / "none.js")
    with pytest.raises(UsageError, match="not built") as raised:
        timeline(trace)
    assert "make web" in raised.value.hint


def test_a_part_of_a_trace(trace: Trace) -> None:
    with trace.scope(to="1ms") as part, pytest.raises(UsageError, match="part of a trace"):
        timeline(part)
