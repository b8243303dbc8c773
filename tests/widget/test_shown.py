"""The widget in Chromium: what it shows, asks and tells Python, by a notebook that is made up."""

from __future__ import annotations

import base64
import importlib.util
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import conftest
from support.trace import write_trace
from support.waiting import wait_until

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.jupyter import timeline
from cupti_etl.serve.built import WIDGET

HERE = Path(__file__).parent
SITE = "http://notebook.test"


def missing() -> str:
    if not conftest.CHROMIUM:
        return "there is no chromium: apt-get install chromium"
    if any(importlib.util.find_spec(name) is None for name in ("playwright", "anywidget")):
        return "playwright, or anywidget, is not installed: make browser"
    return "" if WIDGET.is_file() else "the widget is not built: make web"


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]


# The same browser as of the page.
chromium = conftest.chromium


class Notebook:
    """A page that shows a widget, and the widget."""

    def __init__(self, page: Any, widget: Any, pool: ThreadPoolExecutor) -> None:
        self.page, self.widget, self._pool = page, widget, pool
        self.asked: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.wrong: list[str] = []
        self._heard: queue.Queue[tuple[dict[str, Any], list[bytes]]] = queue.Queue()
        widget._answers._send = lambda *told: self._heard.put(told)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: said.type == "error" and self.wrong.append(said.text))
        page.expose_function("traits", self._traits)
        page.expose_function("save", widget.set_state)
        page.expose_function("take", self._take)
        page.route("**/*", self._file)
        page.goto(f"{SITE}/harness.html")

    def _traits(self) -> dict[str, Any]:
        state = self.widget.get_state()
        return {name: state[name] for name in ("range", "window", "selection", "height")}

    def _take(self, message: dict[str, Any]) -> dict[str, Any] | None:
        self.asked.append(message)
        # In a thread, as this one has the event loop that waits here.
        self._pool.submit(self.widget._handle_custom_msg, message, []).result()
        if message.get("stop"):
            return None
        content, buffers = self._heard.get(timeout=120)
        return {"content": content, "buffers": [base64.b64encode(b).decode() for b in buffers]}

    @staticmethod
    def _file(route: Any) -> None:
        name = route.request.url.removeprefix(f"{SITE}/")
        route.fulfill(path=WIDGET if name == "widget.js" else HERE / name)

    def canvas(self) -> Any:
        found = self.page.locator("canvas[data-state=ready]")
        found.wait_for()
        return found

    def set(self, **traits: Any) -> None:
        """As a cell sets traits, of which Jupyter tells the view."""
        for name, value in traits.items():
            setattr(self.widget, name, value)
        self.page.evaluate("changes => window.set(changes)", traits)

    def wait(self, condition: Callable[[], object]) -> None:
        # What the page calls is run while the page is asked something.
        wait_until(lambda: self.page.evaluate("1") and condition())

    def check(self) -> None:
        assert self.wrong == []
        assert {url.removeprefix(SITE) for url in self.requests} == {
            "/harness.html", "/harness.js", "/widget.js",
        }  # fmt: skip


@pytest.fixture
def show(chromium: Any, trace: Trace) -> Iterator[Callable[..., Notebook]]:
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(1))

        def begin(scheme: str = "light", of: Trace = trace, **options: Any) -> Notebook:
            context = chromium.new_context(
                viewport={"width": 1000, "height": 800}, color_scheme=scheme
            )
            stack.callback(context.close)
            widget = timeline(of, **options)
            stack.callback(widget.close)
            notebook = Notebook(context.new_page(), widget, pool)
            stack.callback(notebook.check)
            return notebook

        yield begin


def test_it_shows_the_trace(show: Callable[..., Notebook]) -> None:
    notebook = show(height=300)
    box = notebook.canvas().bounding_box()
    assert box["height"] <= 300
    legend = notebook.page.locator(".legend").inner_text().split("\n")
    assert {"gemm", "copy"} <= set(legend)
    assert notebook.page.locator("span.range").inner_text() == "1.7 ms from 0"


def test_a_brushed_range_is_a_scope_in_python(show: Callable[..., Notebook]) -> None:
    notebook = show()
    box = notebook.canvas().bounding_box()
    # Names of lanes take 190 pixels of the width; the trace lasts 1.7 ms.
    places = [box["x"] + 190 + time / 1.7e6 * (box["width"] - 190) for time in (5e5, 1e6)]
    mouse = notebook.page.mouse
    mouse.move(places[0], box["y"] + 40)
    mouse.down()
    mouse.move(places[1], box["y"] + 40, steps=3)
    mouse.up()
    notebook.wait(lambda: notebook.widget.range)
    assert notebook.widget.range == pytest.approx((5e5, 1e6), abs=5e3)
    with notebook.widget.scope() as part:
        assert [row["name"] for row in part.query("kernel_summary")] == ["copy"]
    notebook.page.keyboard.press("Escape")
    notebook.wait(lambda: notebook.widget.range is None)


def test_python_moves_the_view(show: Callable[..., Notebook]) -> None:
    notebook = show()
    notebook.canvas()
    says = notebook.page.locator("span.range")
    notebook.set(range=[600_000, 900_000])
    notebook.page.get_by_text("chosen: 300 us").wait_for()
    assert says.inner_text().startswith("600 us from 450")
    notebook.set(window=[0, 1_000_000])
    notebook.page.get_by_text("1 ms from 0").wait_for()
    notebook.set(window=None)
    notebook.page.get_by_text("1.7 ms from 0").wait_for()
    (lane,) = notebook.widget.trace.sql("FROM timeline_lane WHERE content = 'stream'")
    chosen = {"lane": lane["lane"], "depth": 0, "start_ns": 600_000}
    notebook.set(selection=chosen)
    panel = notebook.page.get_by_role("region", name="Selected")
    panel.get_by_text("start_ns", exact=True).wait_for()
    assert "1600000" in panel.inner_text()
    assert notebook.widget.selection == chosen


def test_what_is_found_is_selected_in_python(show: Callable[..., Notebook]) -> None:
    notebook = show()
    notebook.canvas()
    notebook.page.get_by_role("searchbox").fill("copy")
    notebook.page.locator(".results button").click()
    notebook.wait(lambda: notebook.widget.selection)
    assert notebook.widget.selection["start_ns"] == 600_000
    notebook.page.get_by_role("region", name="Selected").get_by_text("1600000").first.wait_for()
    assert {next(iter(set(each) - {"id", "params", "stop"}), "") for each in notebook.asked} >= {
        "name", "sql",
    }  # fmt: skip


def test_a_long_name_stays_in_its_panel(
    show: Callable[..., Notebook], trace: Trace, tmp_path: Path
) -> None:
    long = "sm80_xmma_wgrad_" * 25
    kernel = f"start_ns end_ns name process_id device_id stream_id\n1 9 {long} 1 0 7"
    with cupti_etl.open(write_trace(tmp_path / "run", kernel=kernel)) as other:
        notebook = show(of=other)
        notebook.canvas()
        notebook.page.get_by_role("searchbox").fill("wgrad")
        found = notebook.page.locator(".results button")
        number = "each => [each.offsetHeight, each.offsetTop - each.parentElement.offsetTop]"
        found.wait_for()
        high, down = found.evaluate(number)
        assert high > 40, "the name takes several lines"
        assert down < 5, "they begin beside their number"
        found.click()
        panel = notebook.page.get_by_role("region", name="Selected")
        panel.get_by_text("start_ns", exact=True).wait_for()
        assert panel.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
        assert panel.locator(".says").inner_text().startswith("8 ns from 0; "), "the name is above"


def test_escape_closes_the_help_first(show: Callable[..., Notebook]) -> None:
    notebook = show(range=(500_000, 1_000_000))
    notebook.canvas().press("?")
    keys = notebook.page.get_by_text("show or hide this help")
    keys.wait_for()
    notebook.canvas().press("Escape")
    keys.wait_for(state="hidden")
    assert notebook.widget.range
    notebook.canvas().press("Escape")
    notebook.wait(lambda: notebook.widget.range is None)


def test_an_error_is_shown(show: Callable[..., Notebook]) -> None:
    notebook = show()
    notebook.canvas()
    notebook.widget.trace.close()
    notebook.page.get_by_role("searchbox").fill("copy")
    alert = notebook.page.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text() == "the trace is closed open it again"


def test_styles_of_both_stay_apart(show: Callable[..., Notebook]) -> None:
    notebook = show()
    notebook.canvas()
    style = "(name) => document.getElementById('other').computedStyleMap().get(name).toString()"
    assert notebook.page.evaluate(style, "width") == "auto"
    font = notebook.page.locator(".tools button").first.evaluate(
        "each => getComputedStyle(each).fontFamily"
    )
    assert "serif" not in font.split(", ")
    assert "sans-serif" in font


def test_dark_notebooks(show: Callable[..., Notebook]) -> None:
    notebook = show()
    notebook.canvas()
    theme = "document.querySelector('#output > div').dataset.theme"
    assert notebook.page.evaluate(theme) == "light"
    notebook.page.evaluate("document.body.style.background = 'color(srgb 0.1 0.1 0.1)'")
    notebook.page.wait_for_function(f"{theme} === 'dark'")
    # A gap is fainter than the kernels two lanes below it.
    shade = """([x, y]) => {
      const canvas = document.querySelector("#output > div").shadowRoot.querySelector("canvas");
      return Math.max(...canvas.getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3));
    }"""
    wide = notebook.canvas().bounding_box()["width"]

    def shade_at(ms: float, y: int) -> int:
        return int(notebook.page.evaluate(shade, [190 + ms / 1.7 * (wide - 190), y]))

    notebook.wait(lambda: shade_at(1.55, 61) < shade_at(0.3, 110) / 2)


def test_leaving_leaves_nothing(show: Callable[..., Notebook]) -> None:
    notebook = show()
    notebook.canvas()
    assert notebook.page.evaluate("window.listening()") == 5
    notebook.page.evaluate("window.leave()")
    assert notebook.page.evaluate("window.listening()") == 0
    assert notebook.page.locator("#output").inner_html() == ""
    assert notebook.widget._answers.is_idle
