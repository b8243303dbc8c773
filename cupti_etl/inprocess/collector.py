"""The collector of the own process: a child that reads what this process records."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cupti_etl.errors import CaptureError, EtlError, UsageError

_MESSAGE_BYTES = 1 << 20


def words_of(options: Mapping[str, object]) -> list[str]:
    """Options of ``cupti-etl capture`` out of keywords: ``max_rows=5`` is ``--max-rows 5``.

    True is an option without a value; False and None are none; of several values, one option
    has them all, with commas between.
    """
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple, set, frozenset)):
            words.append(f"{option}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    return words


def in_keywords(text: str, /) -> str:
    """A sentence about options of ``cupti-etl capture``, about the keywords that they come from."""
    text = re.sub(r"(?<![\w-])-o\b", "out", text)
    text = re.sub(r"\badd (--[\w-]+)", r"add \1=True", text)
    return re.sub(r"(?<![\w-])--(\w[\w-]*)", lambda found: found[1].replace("-", "_"), text)


class CollectorProcess:
    """Started, told when the program is done, and asked how it went.

    Args:
        words: options of ``cupti-etl capture``.
        tell: puts what it says about these into the words of whoever gave them.

    Attributes:
        settings: the environment variables that the injected library reads; an empty one is to
            be unset.
        out: where the trace is going to be.

    Raises:
        UsageError: the options cannot be.
        CaptureError: the collector does not start.
    """

    def __init__(self, words: list[str], tell: Callable[[str], str] = in_keywords) -> None:
        self._tell = tell
        self._says = tempfile.TemporaryFile()  # noqa: SIM115
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Not the modules of the folder that the program happens to run in.
        command = [sys.executable, "-P", "-m", "cupti_etl", "capture", *words]
        command += [f"--inside={theirs.fileno()}", "--", *(sys.orig_argv or ["python"])]
        with theirs:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._says,
                # A signal from the terminal is for the program alone.
                start_new_session=True,
                env=os.environ | _path_of_ours(),
            )
        try:
            answer = self._socket.recv(_MESSAGE_BYTES)
        except BaseException:
            self._process.kill()
            self.end()
            raise
        if not answer:
            problem, _ = self.end()
            raise problem or CaptureError("the collector ended at once", "run `cupti-etl doctor`")
        message = json.loads(answer)
        self.settings: dict[str, str] = message["environment"]
        self.out: str = message["out"]

    def end(self) -> tuple[EtlError | None, str]:
        """Say that the program is done, and wait for the trace; again, if that is interrupted.

        Returns:
            What went wrong, or None; and the summary.
        """
        with contextlib.suppress(OSError), self._socket:
            self._socket.send(b"{}")
            # Half closed, so that it is noticed even where the message was not.
            self._socket.shutdown(socket.SHUT_WR)
        status = self._process.wait()
        with self._says:
            self._says.seek(0)
            text = self._says.read().decode("utf-8", "replace").strip()
        return (_error(status, self._tell(text)), "") if status else (None, text)

    def forget(self) -> None:
        """In the child of a fork: it is the parent's."""
        self._socket.close()
        self._says.close()


def _path_of_ours() -> dict[str, str]:
    """What the child needs to find this package where it is not installed."""
    folder = Path(__file__).resolve().parents[2]
    if folder.name in ("site-packages", "dist-packages"):
        return {}
    paths = filter(None, [str(folder), os.environ.get("PYTHONPATH")])
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _error(status: int, text: str) -> EtlError:
    """What the collector's last words were, as an error."""
    if status < 0:
        return CaptureError(
            f"the collector was ended by signal {signal.Signals(-status).name}",
            "what it had written is in the trace: `cupti-etl recover TRACE` finishes it",
        )
    lines = text.splitlines()
    hint = lines.pop().strip() if len(lines) > 1 and lines[-1].startswith("  ") else ""
    message = lines[-1] if lines else f"exit status {status}"
    message = message.removeprefix("cupti-etl: ").removeprefix("Error: ")
    return (UsageError if status == UsageError.exit_code else CaptureError)(message, hint)
