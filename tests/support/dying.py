"""Functions for workers that are killed, as the operating system kills what takes all memory."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupti_etl.engines import distribute
from cupti_etl.errors import TraceError


@dataclass(frozen=True)
class Square:
    """A task: a number, and where it is noted how often its worker was killed.

    Attributes:
        number: what is squared.
        noted: a folder.
        deaths: how often the worker dies of it.
    """

    number: int
    noted: Path
    deaths: int = 0

    @property
    def says(self) -> str:
        return f"number {self.number}"


def square(task: Square) -> int:
    """The square of a task's number, once its worker has died often enough."""
    _die(task.noted / str(task.number), task.deaths)
    return task.number**2


def refused(task: Square) -> int:
    """Never an answer."""
    raise TraceError(f"{task.number} cannot be read", "move it away")


def wrong(task: Square) -> int:
    """Never an answer, for a reason that nobody has foreseen."""
    return 1 // (task.number - task.number)


def partial(question: distribute.Question) -> Any:
    """What a worker says of a shard, once it has died of it."""
    _die(question.shard.paths[0] / "deaths", 1)
    return distribute.partial(question)


def _die(note: Path, deaths: int) -> None:
    died = note.stat().st_size if note.exists() else 0
    if died < deaths:
        with note.open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
