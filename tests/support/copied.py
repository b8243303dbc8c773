"""A process that has loaded what `cupti-etl capture` loads; a capture is a copy of it.

Importing is more than half of the work of so small a capture.  Where it matters how the process
is started, or what becomes of it while it runs, tests start one of their own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from support import leftovers

TESTS = Path(__file__).parents[1]
# What the loader and Python read when they start, and not again.
_AT_THE_START = ("ARROW_", "GLIBC_", "LANG", "LC_", "LD_", "MALLOC_", "OPENBLAS_", "PYTHON")
_IMPORTED = (
    *("capture.session", "commands.capture", "pm.sampling"),
    *("storage.compaction", "storage.name", "storage.parquet"),
)
_MOST_BYTES = 1 << 17


class Original:
    """That process, for one capture at a time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = _at_the_start(env)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = os.pathsep.join([env.get("PYTHONPATH", ""), str(TESTS)])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "support.copied", str(theirs.fileno())],
                env={**env, "PYTHONPATH": paths},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        leftovers.LASTING.add(self._process.pid)

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()
        leftovers.LASTING.remove(self._process.pid)

    def run(
        self, words: Sequence[str | Path], env: Mapping[str, str], stdin: str, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """A copy, to its end; see ``run``."""
        told = {"words": [*map(str, words)], "env": dict(env), "cwd": str(Path.cwd())}
        request = json.dumps(told).encode()
        given, out, err = (os.pipe() for _ in range(3))
        with os.fdopen(given[1], "w") as file:
            file.write(stdin)  # which finds room in the pipe
        theirs = (given[0], out[1], err[1])
        with ThreadPoolExecutor(2) as readers:
            try:
                said = [readers.submit(_read, each[0]) for each in (out, err)]
                socket.send_fds(self._socket, [request], theirs)
            finally:
                for each in theirs:
                    os.close(each)
            status = self._status(timeout_s)
        return subprocess.CompletedProcess(words, status, *(each.result() for each in said))

    def _status(self, timeout_s: float) -> int:
        pid = int(self._socket.recv(_MOST_BYTES))
        self._socket.settimeout(timeout_s)
        try:
            return int(self._socket.recv(_MOST_BYTES))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(_MOST_BYTES)
            raise


def _read(descriptor: int) -> str:
    with os.fdopen(descriptor) as file:
        return file.read()


def _at_the_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_AT_THE_START)}


_kept: list[Original] = []


@atexit.register
def _close() -> None:
    while _kept:
        _kept.pop().close()


def run(
    words: Sequence[str | Path], env: Mapping[str, str], stdin: str = "", timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` does with ``python -m cupti_etl`` and the words, and keeps its output.

    Raises:
        TimeoutError: it took too long, and was killed.
    """
    if not _kept or _kept[0].env != _at_the_start(env):
        _close()
        _kept.append(Original(env))
    return _kept[0].run(words, env, stdin, timeout_s)


def _await_request(asked: socket.socket) -> tuple[bytes, list[int]]:
    """In a copy: what it is to do, and its standard streams."""
    while True:
        request, streams, _, _ = socket.recv_fds(asked, _MOST_BYTES, 3)
        if not request:
            sys.exit()
        # pyarrow has a thread, which knows what to do then.
        with warnings.catch_warnings(action="ignore"):
            pid = os.fork()
        if pid == 0:
            return request, streams
        for each in streams:
            os.close(each)
        asked.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        asked.send(str(os.waitstatus_to_exitcode(status)).encode())


def _main(descriptor: int) -> None:
    sys.path.remove(str(TESTS))
    from cupti_etl.cli import load_with_one_thread, main
    from cupti_etl.errors import EtlError
    from cupti_etl.native.loader import load

    load_with_one_thread()
    for name in _IMPORTED:
        importlib.import_module(f"cupti_etl.{name}")
    with suppress(EtlError):  # which each copy would say itself
        load()
    # No copy looks for garbage in what is imported: each would have to copy those pages.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as asked:
        request, streams = _await_request(asked)
    told = json.loads(request)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.chdir(told["cwd"])
    os.environ.clear()
    os.environ.update(told["env"])
    sys.argv[1:] = told["words"]
    main()


if __name__ == "__main__":
    _main(int(sys.argv[1]))
