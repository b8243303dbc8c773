"""Application replay: the command is run again for each group of metrics that one pass counts."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cupti_etl.capture.obstacles import range_obstacle
from cupti_etl.config import ENVIRONMENT
from cupti_etl.progress import say
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.launcher import Launcher

_STDIN = 0


class Replay:
    """The runs of one command.

    How many there are is known when the first has asked CUPTI on its GPU.  To be made before the
    first, which may read from standard input at once.

    Args:
        environment: of the first run.

    Attributes:
        run: the number of the one that runs, from 1.
    """

    def __init__(self, environment: Mapping[str, str], *, quiet: bool) -> None:
        self.run = 1
        self._begin = time.monotonic()
        self._environment = environment
        self._quiet = quiet
        self._stdin: int | None = None
        with contextlib.suppress(OSError):  # no file
            self._stdin = os.lseek(_STDIN, 0, os.SEEK_CUR)

    def begin_next(self, launcher: Launcher, collector: Collector) -> bool:
        """Run the command again; False if that was all, or it is no use to go on.

        In the latter case, it is a loss of the collector's from then on.

        Raises:
            UsageError: the command cannot be started any more.
        """
        runs = max((one.process.info().range_groups for one in collector.traced), default=1)
        if self.run >= runs:
            return False
        why = _obstacle(launcher, collector)
        if why:
            detail = (
                f"the command was run {self.run} of {runs} times, as {why}; metrics of the other"
                " runs were not measured"
            )
            collector.known_losses.append(Loss(None, "range_runs", "launch_metric", detail=detail))
            return False
        left = (time.monotonic() - self._begin) / self.run * (runs - self.run)
        self.run += 1
        if not self._quiet:
            say(f"cupti-etl: run {self.run} of {runs}, about {left:,.1f} s left")
        if self._stdin is not None:
            with contextlib.suppress(OSError):
                os.lseek(_STDIN, self._stdin, os.SEEK_SET)
        name = ENVIRONMENT["REPLAY_RUN"][0]
        launcher.start({**self._environment, name: str(self.run)})
        return True


def _obstacle(launcher: Launcher, collector: Collector) -> str:
    """Why the command is not run again; "" if it can be."""
    status = launcher.poll()
    if status:
        return f"it ended with status {status}"
    if launcher.interrupts:
        return "it was interrupted"
    if collector.live:
        return "processes that it left behind still ran"
    failures = (one.process.info().range_failure for one in collector.traced)
    return next((range_obstacle(code) for code in failures if code), "")
