"""What an engine is: it calls a function for many tasks, on workers, and survives their death."""

from __future__ import annotations

import os
import platform
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cupti_etl import __version__
from cupti_etl.errors import EngineError, EtlError, UsageError

# The first is no engine of workers: the one DuckDB that answers everything.
DUCKDB = "duckdb"
NAMES = (DUCKDB, "processes", "ray", "spark")
# How often a task is begun before it is given up: one worker may be killed by chance, and it
# may be innocent of why.
ATTEMPTS = 3
# Of DuckDB on a worker, unless somebody says otherwise.  One thread, as there are other workers on
# the machine's other cores.
SETTINGS = {"threads": "1", "memory_limit": "2GB"}


@dataclass(frozen=True)
class Done:
    """What came of a task.

    Attributes:
        place: the task's place among all.
        result: what the function returned.
        attempts: how often it was begun; more than once where workers were killed.
    """

    place: int
    result: Any
    attempts: int = 1


class Task(Protocol):
    """What a function is called with on a worker; pickle can send it there."""

    @property
    def says(self) -> str:
        """What it is about, in words, for errors."""


class Engine(Protocol):
    """Runs tasks on workers."""

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        """Call a function for each task; results in the order in which they come.

        Args:
            function: a function of a module, which workers import by its name.
            tasks: what it is called with.

        Raises:
            EtlError: what the function raised.
            EngineError: a worker was killed again and again, or there are none.
        """


@dataclass(frozen=True)
class Call:
    """A function and a task, as they are sent to a worker."""

    function: Callable[[Any], Any]
    task: Task
    version: str = __version__

    def __call__(self) -> Any:
        """The result, or our error as a value, which every engine passes on unchanged."""
        if self.version != __version__:
            return EngineError(
                f"the worker on {platform.node()} has cupti-etl {__version__}, this is"
                f" {self.version}",
                "install the same version everywhere",
            )
        try:
            return self.function(self.task)
        except EtlError as error:
            return error
        except Exception as error:
            failed = EngineError(f"{self.task.says}: {type(error).__name__}: {error}")
            failed.add_note(traceback.format_exc())
            return failed


def result_of(returned: Any) -> Any:
    """What a call returned.

    Raises:
        EtlError: the function raised it.
    """
    if isinstance(returned, EtlError):
        raise returned
    return returned


def killed(task: Task, how: str) -> EngineError:
    """What is said where a task was begun as often as it may be."""
    return EngineError(
        f"{task.says}: its worker died {ATTEMPTS} times, the last time of {how}",
        "it may need more memory than the worker has: ask fewer processes at once, as with"
        " --rank, or --engine duckdb",
    )


def find(name: str) -> Engine:
    """The engine of workers of that name.

    Raises:
        UsageError: there is none, or what it needs is not installed.
    """
    if name == "processes":
        from cupti_etl.engines.processes import Processes

        return Processes()
    if name == "ray":
        from cupti_etl.engines.ray_tasks import Ray

        return Ray()
    if name == "spark":
        from cupti_etl.engines.spark import Spark

        return Spark()
    raise UsageError(f"there is no engine {name!r}", f"engines: {', '.join(NAMES)}")


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
