"""A capture of a command beside the view: started, signalled, waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cupti_etl.errors import UsageError

# Lines of the command's output that are shown where it, or the capture, failed.
_TAIL_LINES = 10
_TAIL_BYTES = 64 << 10
_PAUSE_S = 0.05
_MOMENT_S = 1.0
# So often there is something new to see; an option of the capture says otherwise.
_ROLL = "5s"


class Program:
    """``cupti-etl capture`` of a command, whose output goes to a file.

    It has a session of its own: keys and the end of the terminal reach it through us alone.

    Args:
        out: folder of the trace.
        options: of the capture, but for the folder.
        command: and its arguments.
        overwrite: whether a former trace and its output give way.

    Raises:
        UsageError: there is a file of output already, or it cannot be written.
    """

    def __init__(
        self, out: Path, options: Sequence[str], command: Sequence[str], *, overwrite: bool = False
    ) -> None:
        self.output = out.with_name(f"{out.name}.output")
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if overwrite else os.O_EXCL)
        try:
            self.output.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.output, flags, 0o666)
        except FileExistsError:
            raise UsageError(
                f"{self.output} exists already", "choose another -o, or give --overwrite"
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.output} cannot be written: {error.strerror}", "choose another -o"
            ) from None
        words = ["capture", "-o", str(out), *(["--overwrite"] if overwrite else [])]
        words += ["--roll", _ROLL, *options]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cupti_etl", *words, "--", *command],
                # The keyboard is the view's.
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        finally:
            os.close(file)

    @property
    def is_running(self) -> bool:
        """Whether the capture goes on."""
        return self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status of the capture, 128 + n where signal n ended it; None while it runs."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def signal(self, number: int) -> None:
        """Pass a signal on to the command, as the capture does."""
        if self.is_running:
            self._process.send_signal(number)

    def wait(self, came: list[int], late: Callable[[], None]) -> int:
        """Wait until the capture has ended, and pass on the signals that come meanwhile.

        Args:
            came: signals, as ``signals.caught`` gives them.
            late: called if that takes longer than a moment.

        Returns:
            Its exit status; 128 + n where signal n ended it.
        """
        late_at = time.monotonic() + _MOMENT_S
        is_late = False
        while self.is_running:
            while came:
                self.signal(came.pop(0))
            if not is_late and time.monotonic() > late_at:
                is_late = True
                late()
            time.sleep(_PAUSE_S)
        status = self.status
        assert status is not None
        return status

    def last_lines(self) -> list[str]:
        """The last lines of what the command and the capture said."""
        with self.output.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
        return text.splitlines()[-_TAIL_LINES:]
