"""The collector's side of PM sampling: a process that samples, and its samples as batches.

What goes wrong there never stands in the way of the capture: it becomes a row of ``loss``, a
sentence in ``capture``, and ``failure`` here.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cupti_etl.config import CUDA_INJECTION, ENVIRONMENT, NVTX_INJECTION, CaptureOptions, PmOptions
from cupti_etl.errors import CaptureError, UsageError
from cupti_etl.native.cupti_search import find_cupti
from cupti_etl.pm.frames import HUNG, LOSS, SAMPLES, Frame, FrameReader, Gap, gap
from cupti_etl.pm.samples import Samples
from cupti_etl.schema.loss import Loss

if TYPE_CHECKING:
    import pyarrow as pa

# Opening CUPTI takes about a second; a GPU that is in a bad state takes for ever.
_START_S = 60.0
# The process gives its threads 5 s to end.
_END_S = 10.0
_PIECE = 1 << 20
_SHORTEST_NS, _LONGEST_NS = 5_000, 1_000_000_000
# NVML counts no faster: at 10 ms most samples are 0 on an H200.
_SHORTEST_GPM_NS = 100_000_000


def check(options: PmOptions) -> None:
    """See what can be seen before a GPU is asked.

    Raises:
        UsageError: an option cannot be.
    """
    from cupti_etl.pm.aliases import ALIASES
    from cupti_etl.pm.presets import GPM, PRESETS

    words = [word.strip() for word in options.metrics.split(",")]
    if GPM in words:
        if words != [GPM]:
            raise UsageError(
                f"--pm {options.metrics}: {GPM} is counted by NVML, the others by CUPTI",
                f"name {GPM} alone, or leave it out",
            )
        if not _SHORTEST_GPM_NS <= options.interval_ns <= _LONGEST_NS:
            raise UsageError(
                f"--pm-interval of {options.interval_ns} ns is not between 100ms and 1s",
                f"--pm {GPM} counts no faster",
            )
        return
    for word in words:
        if word not in PRESETS and word not in ALIASES and "__" not in word:
            raise UsageError(
                f"--pm: {word!r} is neither a preset nor a metric",
                f"presets are {', '.join((*PRESETS, GPM))}; `cupti-etl metrics list` has the"
                " metrics",
            )
    if not _SHORTEST_NS <= options.interval_ns <= _LONGEST_NS:
        raise UsageError(
            f"--pm-interval of {options.interval_ns} ns is not between 5us and 1s",
            "50us to 1ms is what hardware and one core keep up with",
        )


@dataclass
class Sampled:
    """A GPU that is sampled.

    Attributes:
        about: what the process said of it.
        rows: samples so far.
        last_end_ns: end of the last one; 0 before the first.
    """

    about: dict[str, Any]
    rows: int = 0
    last_end_ns: int = 0
    losses: list[Loss] = field(default_factory=list)
    result: dict[str, Any] | None = None  # what the process said of it in the end

    def lose(self, missing: Gap) -> None:
        """Note a range without samples."""
        self.losses.append(
            Loss(
                None,
                missing.cause,
                "pm_sample",
                missing.samples,
                start_ns=missing.start_ns,
                end_ns=missing.end_ns,
                detail=missing.detail,
                device_uuid=str(self.about["uuid"]),
            )
        )


class Sampling:
    """PM sampling beside a capture: started, drained, stopped.

    Args:
        pm: what to sample.
        options: of the capture; whose libcupti is used.
        environ: environment of the capture.
    """

    def __init__(self, pm: PmOptions, options: CaptureOptions, environ: Mapping[str, str]) -> None:
        self.options = pm
        self.devices: list[Sampled] = []
        self.failure: tuple[str, str] | None = None  # what is wrong, and what to do
        self._reader = FrameReader()
        self._samples: Samples | None = None
        self._is_over = False
        self._started_ns = time.time_ns()
        places = [options.cupti] if options.cupti else [each.path for each in find_cupti(environ)]
        request = {
            "places": ":".join(map(str, places)),
            "metrics": pm.metrics,
            "interval_ns": pm.interval_ns,
            "devices": pm.devices,
            "is_draining_only": pm.is_draining_only,
        }
        ours = {CUDA_INJECTION, NVTX_INJECTION, *(name for name, _ in ENVIRONMENT.values())}
        self._is_gpm = pm.metrics == "gpm"
        self._open = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._begin(request, {k: v for k, v in environ.items() if k not in ours})
        except OSError as error:  # no descriptors, no memory
            self._is_over = True
            self._fail(f"the process that samples cannot be started: {error}", "see ulimit -a")

    def _begin(self, request: dict[str, Any], environ: dict[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._open.enter_context(self._socket)
        with theirs:
            # Read only if it dies: what CUPTI prints is no business of the program's terminal.
            self._stderr = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", f"cupti_etl.pm.{'gpm' if self._is_gpm else 'sampler'}"),
                    *(str(theirs.fileno()), json.dumps(request)),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                env=environ,
                start_new_session=True,  # Ctrl-C is for the program, and for us
            )

    def wait_until_ready(self) -> None:
        """Wait until samples are taken, or it is known that none will be.

        Raises:
            CaptureError: they are required, and are not taken of all GPUs that were asked for.
        """
        until = time.monotonic() + _START_S
        while self._samples is None and not self._is_over:
            left = until - time.monotonic()
            if left <= 0:
                self._kill()
            self._wait(max(left, 1.0))
            self.drain()
        if self.failure and self.options.is_required:
            raise self.error()

    def error(self) -> CaptureError:
        """The failure, for who requires the samples."""
        assert self.failure is not None
        what, hint = self.failure
        return CaptureError(f"hardware counters are not sampled: {what}", hint)

    def _wait(self, seconds: float) -> None:
        select.select([self._socket], [], [], seconds)

    # ---- what comes

    def drain(self) -> None:
        """Take what the process has sent."""
        while not self._is_over:
            try:
                data = self._socket.recv(_PIECE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._over()
                return
            try:
                for frame in self._reader.feed(data):
                    self._take(frame)
            except ValueError as error:
                self._fail(str(error), "report this fault")
                self._kill()

    def _take(self, frame: Frame) -> None:
        if frame.type == SAMPLES and self._samples is not None:
            device = self.devices[frame.device]
            device.last_end_ns = self._samples.add(frame)
            device.rows += frame.rows
        elif frame.type == LOSS:
            self.devices[frame.device].lose(gap(frame.body))
        else:
            self._hear(json.loads(frame.body))

    def _hear(self, said: dict[str, Any]) -> None:
        if said["say"] == "end":
            for result in said["devices"]:
                device = self.devices[result["number"]]
                device.result = result
                if result["failure"]:
                    self._fail(f"GPU {device.about['index']}: {result['failure']}", result["hint"])
            return
        # Frames carry numbers of devices; one that did not start has none of its own.
        numbers = [each["number"] for each in said["devices"]]
        self.devices = [
            Sampled({} if number not in numbers else said["devices"][numbers.index(number)])
            for number in range(max(numbers, default=-1) + 1)
        ]
        for each in said["failed"]:
            where = f"GPU {each['index']}: " if "index" in each else ""
            self._fail(where + each["failure"], each["hint"])
        self._samples = Samples(self.options, [device.about for device in self.devices])

    def _fail(self, what: str, hint: str) -> None:
        self.failure = self.failure or (what, hint)

    def _over(self) -> None:
        """The process has ended, in order or not."""
        self._is_over = True
        assert self._process is not None
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        unfinished = [each for each in self.devices if each.about and each.result is None]
        if not unfinished and (self.failure or self.devices):
            return
        if status == HUNG:
            what = "CUPTI did not come back from a call"
        else:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            what = f"the process that samples ended with {how}{self._last_words()}"
        self._fail(what, "the rest of the capture is whole; another libcupti may help: --cupti")
        for device in unfinished:
            start, end = device.last_end_ns or self._started_ns, time.time_ns()
            samples = max(end - start, 0) // self.options.interval_ns
            device.lose(Gap("pm_failed", what, start, end, samples))

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""

    # ---- what goes on

    def batches(self, everything: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Batches of ``pm_metric`` and ``pm_sample``; without ``everything`` only full ones."""
        if self._samples is not None:
            yield from self._samples.batches(everything)

    def losses(self) -> list[Loss]:
        """Ranges without samples so far."""
        return [loss for device in self.devices for loss in device.losses]

    @property
    def rows(self) -> int:
        """Samples so far."""
        return sum(device.rows for device in self.devices)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._is_over

    def facts(self) -> dict[str, Any]:
        """Columns of the table ``capture``."""
        if not any(device.about for device in self.devices):
            state = "failed"
        elif self.failure:
            state = "partial"
        else:
            state = "finished" if self._is_over else "sampling"
        return {
            "pm_metrics": self.options.metrics,
            "pm_interval_ns": self.options.interval_ns,
            "pm_state": state,
            "pm_detail": self.failure[0] if self.failure else None,
            # CUPTI does so while it samples.
            "pm_clocks_locked": None if state == "failed" else not self._is_gpm,
        }

    def results(self) -> list[dict[str, Any]]:
        """What the process said of each GPU in the end: time of the CPU, sizes, restarts."""
        return [each.about | each.result for each in self.devices if each.result is not None]

    def stop(self) -> None:
        """Let the process end, and take what it still sends; killed if it does not end."""
        if self._is_over:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        until = time.monotonic() + _END_S
        while not self._is_over:
            if time.monotonic() >= until:
                self._kill()
            self._wait(0.5)
            self.drain()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Let go of everything; a process that still runs is killed."""
        if self._process is not None and not self._is_over:
            self._process.kill()
            self._process.wait()
        self._open.close()
