"""Workers of Ray: of the cluster that RAY_ADDRESS names, or of this machine."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any

from cupti_etl.engines.engine import ATTEMPTS, Call, Done, Task, killed, result_of
from cupti_etl.errors import EngineError, UsageError

# Tasks that Ray knows of at a time, for each processor of the cluster: the next is there when one
# is done, and the driver holds no more than it must.
_AHEAD = 2


class Ray:
    """Runs tasks as tasks of Ray, one processor each."""

    def __init__(self) -> None:
        # Ray reports its use to its makers unless it is told not to.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise UsageError("Ray is not installed", "pip install 'cupti-etl[ray]'") from None
        self._ray = ray

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        """Call a function for each task: see ``Engine``."""
        if self._ray.is_initialized():
            yield from self._run(function, tasks)
            return
        # Ray prints what befalls workers, where answers are written to.
        with redirect_stdout(sys.stderr):
            self._begin()
            try:
                yield from self._run(function, tasks)
            finally:
                self._ray.shutdown()

    def _begin(self) -> None:
        try:
            self._ray.init(log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise EngineError(
                f"Ray cannot be reached: {error}", "see what RAY_ADDRESS says"
            ) from error

    def _run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        ray = self._ray
        # Retried here, so that it is known how often.
        remote = ray.remote(num_cpus=1, max_retries=0)(_call)
        raised = ray.exceptions
        deaths = (
            raised.WorkerCrashedError,
            raised.OutOfMemoryError,
            raised.NodeDiedError,
            raised.ObjectLostError,
        )
        room = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        left = [(place, 1) for place in reversed(range(len(tasks)))]
        running: dict[Any, tuple[int, int]] = {}
        while left or running:
            while left and len(running) < room:
                place, attempt = left.pop()
                running[remote.remote(Call(function, tasks[place]))] = (place, attempt)
            (ready,), _ = ray.wait(list(running), num_returns=1)
            place, attempt = running.pop(ready)
            try:
                returned = ray.get(ready)
            except deaths as error:
                if attempt < ATTEMPTS:
                    left.append((place, attempt + 1))
                    continue
                returned = killed(tasks[place], type(error).__name__)
            except raised.RayError as error:
                raise EngineError(f"{tasks[place].says}: Ray: {error}") from error
            yield Done(place, result_of(returned), attempt)


def _call(call: Call) -> Any:
    return call()
