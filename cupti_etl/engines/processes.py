"""Workers that are processes of this machine.

Each is a Python of its own that gets one call at a time over a pipe: so the death of a worker says
which task it was at, whatever ``__main__`` of the program is, and however many threads it has.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from cupti_etl.engines.engine import ATTEMPTS, Call, Done, Task, cores, killed, result_of
from cupti_etl.engines.worker import receive, send


class Processes:
    """Runs tasks in processes of this machine.

    Args:
        workers: how many there are at most; as many as processors, unless it is said.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or cores()

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        """Call a function for each task: see ``Engine``."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        for place in range(len(tasks)):
            waiting.put(place)
        lanes = [_Lane(function, tasks, waiting, done) for _ in tasks[: self._workers]]
        try:
            for lane in lanes:
                lane.start()
            for _ in tasks:
                one = done.get()
                yield Done(one.place, result_of(one.result), one.attempts)
        finally:
            for lane in lanes:
                lane.stop()
            for lane in lanes:
                lane.join()


class _Lane(threading.Thread):
    """Has tasks done by one worker, and by another where that one dies."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Task],
        waiting: queue.SimpleQueue[int],
        done: queue.SimpleQueue[Done],
    ) -> None:
        super().__init__(daemon=True)
        self._function, self._tasks = function, tasks
        self._waiting, self._done = waiting, done
        self._lock = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self) -> None:
        """Do what is left to do."""
        with suppress(_Stopped, queue.Empty):
            while True:
                self._done.put(self._do(self._waiting.get_nowait()))
        self.stop()
        if self._worker:
            _end_of(self._worker)

    def stop(self) -> None:
        """Kill the worker; there will be no other."""
        with self._lock:
            self._is_stopped = True
            if self._worker:
                self._worker.kill()

    def _do(self, place: int) -> Done:
        how = ""
        for attempt in range(1, ATTEMPTS + 1):
            worker = self._alive()
            assert worker.stdin
            assert worker.stdout
            try:
                send(worker.stdin, Call(self._function, self._tasks[place]))
                return Done(place, receive(worker.stdout), attempt)
            except (EOFError, OSError):
                how = _end_of(worker)
        return Done(place, killed(self._tasks[place], how), ATTEMPTS)

    def _alive(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_stopped:
                raise _Stopped
            if self._worker is None or self._worker.poll() is not None:
                self._worker = _start()
            return self._worker


class _Stopped(Exception):
    """Nobody waits for more."""


def _start() -> subprocess.Popen[bytes]:
    # What this process can import the worker can, too.
    path = os.pathsep.join(each or str(os.getcwd()) for each in sys.path)  # noqa: PTH109
    return subprocess.Popen(
        [sys.executable, "-m", "cupti_etl.engines.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Threads come and go with each task; glibc keeps memory for each that ran beside others.
        env={"MALLOC_ARENA_MAX": "1", **os.environ, "PYTHONPATH": path},
    )


def _end_of(worker: subprocess.Popen[bytes]) -> str:
    """How a worker ended, in words."""
    for pipe in (worker.stdin, worker.stdout):
        with suppress(OSError):
            if pipe:
                pipe.close()
    status = worker.wait()
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"
