"""The view on a terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from cupti_etl.errors import EtlError
from cupti_etl.progress import printable
from cupti_etl.signals import known
from cupti_etl.top.reading import FINISHED, WAITING, Reading
from cupti_etl.top.tables import (
    ORDERS,
    broken,
    first_order,
    gpu_lines,
    kernel_lines,
    loss_lines,
    ordered,
    state_line,
    sum_lines,
)

if TYPE_CHECKING:
    from cupti_etl.top.reader import Reader

_EVERY_S = 1.0
# Kernels that are drawn; what is left out is said.
_MOST_KERNELS = 500
_SIGNALS = known("SIGINT", "SIGTERM", "SIGHUP")
# Of the terminal's lines, so many are for kernels where there are many steps.
_KERNEL_LINES = 8

_HELP = {
    "s": "sort by the next column: {orders}",
    "r": "reverse the order",
    "/": "show only kernels with a text in their names; Esc ends it",
    "Space": "stop, or go on with, refreshing",
    "arrows": "and PgUp, PgDn, Home, End: move in the list of kernels",
    "q": "leave{leave}",
    "Ctrl-C": "{interrupt}",
    "": "",
    "now": "what came since the last rows; a capture writes them every second at first, and less"
    " often as it gets older",
    "busy": "time with anything on the GPU, as a share",
    "percent": "of the time of all kernels",
}
_KEY, _HELP_WIDTH = 9, 74


class TopApp(App[int | None]):
    """Shows readings of a trace; its result is the signal that ended it, or None.

    Args:
        source: of readings; used by one thread at a time.
        trace: what is read.
        first: the reading that is shown at first.
        every_s: time between two readings; 0 for none but those that are asked for.
        is_over: says whether the command whose capture is shown has ended; None if there is none.
        status: says with what it ended.
        output: where what that command prints goes.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #state, #losses, #gpus, #sums { height: auto; }
    #losses { color: $text-error; text-style: bold; }
    #gpus, #sums { margin-top: 1; }
    #list { margin-top: 1; height: 1fr; min-height: 3; }
    #filter { dock: bottom; display: none; border: none; height: 1; padding: 0; margin-bottom: 1; }
    #filter.asked { display: block; }
    Help { align: center middle; }
    #help { width: auto; max-width: 100%; height: auto; border: solid $primary; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Quit"),
        Binding("s", "sort", "Sort"),
        Binding("r", "reverse", "Reverse"),
        Binding("slash", "ask_filter", "Filter", key_display="/"),
        Binding("space", "hold", "Pause"),
        Binding("question_mark,h", "help", "Help", key_display="?"),
        Binding("ctrl+c", "interrupt", "Interrupt", show=False, priority=True),
        Binding("escape", "end_filter", "", show=False),
    ]

    def __init__(
        self,
        source: Reader,
        trace: Path,
        *,
        first: Reading | None = None,
        every_s: float = _EVERY_S,
        is_over: Callable[[], bool] | None = None,
        status: Callable[[], int | None] | None = None,
        output: Path | None = None,
    ) -> None:
        super().__init__()
        self._source = source
        self._trace_path = trace
        self._every_s = every_s
        self._is_over = is_over
        self._status = status
        self._output = output
        self._reading = first or Reading()
        self._problem = ""
        self._order = ""  # as it suits the trace, until somebody chooses
        self._is_reversed = False
        self._part = ""
        self._is_held = False
        self._is_reading = False
        self._was_over = False
        self._width, self._height = 80, 24  # until it is told
        self._before: dict[signal.Signals, Any] = {}

    def compose(self) -> ComposeResult:
        """The parts of the view, from the top."""
        yield Static(id="state", markup=False)
        yield Static(id="losses", markup=False)
        yield Static(id="gpus", markup=False)
        yield Static(id="sums", markup=False)
        with VerticalScroll(id="list"):
            yield Static(id="kernels", markup=False)
        yield Input(id="filter", placeholder="part of a kernel's name", max_length=200)
        yield Footer(show_command_palette=False)

    async def on_mount(self) -> None:
        """Take signals, and read for the first time."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            before = signal.getsignal(number)
            # Windows has none for a loop; there, its keys alone end the view.
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, self.exit, int(number))
                self._before[number] = before
        self.query_one("#list").focus()
        self.draw()
        if self._every_s:
            self.set_interval(self._every_s, self.tick)
            self.call_after_refresh(self.tick)

    async def on_unmount(self) -> None:
        """Give signals back."""
        loop = asyncio.get_running_loop()
        for number, handler in self._before.items():
            loop.remove_signal_handler(number)
            # What takes signals around the view does so again.
            signal.signal(number, handler)

    def tick(self) -> None:
        """Read, unless nobody wants it; keys work meanwhile."""
        if not self._is_held:
            self.run_worker(self.read())

    async def read(self) -> None:
        """Read what is new and show it, unless that is still being done."""
        if self._is_reading:
            return
        self._is_reading = True
        try:
            # What is over before the trace is read is in it.
            over = self._is_over is not None and self._is_over()
            try:
                self._reading = await asyncio.to_thread(self._source.read)
                self._problem = ""
            except EtlError as error:
                self._problem = printable(error.message)
            if over and self._reading.state == WAITING:
                self.exit(None)  # it was refused, or never used CUDA: there is nothing to see
            self._was_over = over
            self.draw()
        finally:
            self._is_reading = False

    def on_resize(self, event: Resize) -> None:
        """Draw for another width."""
        self._width, self._height = event.size
        self.draw()

    def draw(self) -> None:
        """Draw the reading as wide as the terminal is."""
        width = max(self._width, 1)
        reading = self._reading
        state = [state_line(reading, self._trace_path)]
        if self._was_over and reading.state != FINISHED:
            state.append("the command has ended")
        if self._problem:
            state.append(self._problem)
        if self._output is not None:
            state.append(f"output of the command: {printable(str(self._output))}")
        if self._is_held:
            state.append("paused: Space goes on")
        self._put("#state", state)
        wrong = [*self._failure(width), *loss_lines(reading, width)]
        gpus = gpu_lines(reading, width)
        # Three empty lines, and one of keys.
        room = self._height - len(state) - len(wrong) - len(gpus) - 4 - _KERNEL_LINES
        self._put("#losses", wrong)
        self._put("#gpus", gpus)
        self._put("#sums", sum_lines(reading, width, room))
        self._put("#kernels", self._kernel_lines(width) if reading.state != WAITING else [])

    def _failure(self, width: int) -> list[str]:
        """That the command failed, if it did."""
        status = self._status() if self._was_over and self._status is not None else None
        if not status:
            return []
        with suppress(ValueError):
            name = signal.Signals(status - 128).name
            return broken(f"the command ended by {name}; q shows its last lines", width)
        return broken(f"the command ended with status {status}; q shows its last lines", width)

    def _kernel_lines(self, width: int) -> list[str]:
        rows = ordered(
            self._reading.kernels, self.order, is_reversed=self._is_reversed, part=self._part
        )
        told = f"Kernels by {ORDERS[self.order]}{', reversed' if self._is_reversed else ''}"
        if self._part:
            told += (
                f', with "{printable(self._part)}": {len(rows):,} of {len(self._reading.kernels):,}'
            )
            if not rows:
                return [told]
        # Beside the list there may be a bar that moves it.
        return [told, *kernel_lines(rows, max(width - 2, 1), _MOST_KERNELS)]

    @property
    def order(self) -> str:
        """The column that kernels are sorted by."""
        return self._order or first_order(self._reading)

    def _put(self, where: str, lines: list[str]) -> None:
        found = self.screen_stack[0].query(where)
        if not found:
            return  # a size is told before there is anything
        part = found.first(Static)
        part.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))
        part.display = bool(lines)

    def action_sort(self) -> None:
        """Sort by the next column."""
        names = list(ORDERS)
        self._order = names[(names.index(self.order) + 1) % len(names)]
        self.draw()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._is_reversed = not self._is_reversed
        self.draw()

    def action_hold(self) -> None:
        """Stop refreshing, or go on."""
        self._is_held = not self._is_held
        self.draw()

    def action_ask_filter(self) -> None:
        """Ask for a part of kernels' names."""
        field = self.query_one("#filter", Input)
        field.add_class("asked")
        field.focus()

    def action_end_filter(self) -> None:
        """Show all kernels again."""
        self.query_one("#filter", Input).value = ""
        self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter").remove_class("asked")
        self.query_one("#list").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits so far."""
        self._part = event.value
        self.draw()

    def on_input_submitted(self) -> None:
        """Keep the filter, and listen to the other keys again."""
        self._close_filter()

    def action_help(self) -> None:
        """Say what the keys do."""
        is_command = self._is_over is not None
        words = {
            "orders": ", ".join(ORDERS.values()),
            "leave": "; the command goes on, and its capture" if is_command else "",
            "interrupt": "interrupt the command, and leave" if is_command else "leave",
        }
        # A frame and a space are on both sides.
        room = min(self._width - 4, _HELP_WIDTH)
        told = [
            line
            for key, what in _HELP.items()
            for line in broken(f"{key:<{_KEY}}{what.format(**words)}", room, _KEY) or [""]
        ]
        self.push_screen(Help("\n".join(told)))

    def action_leave(self) -> None:
        """End the view."""
        self.exit(None)

    def action_interrupt(self) -> None:
        """End the view as Ctrl-C ends a command."""
        self.exit(int(signal.SIGINT))


class Help(ModalScreen[None]):
    """What the keys do; any key closes it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static(self._text, id="help", markup=False)

    def on_key(self, event: Any) -> None:
        """Close it."""
        event.stop()
        self.dismiss()
