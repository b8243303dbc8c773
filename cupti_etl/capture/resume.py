"""Traced programs whose collector was killed: found through /proc, and taken up again.

A traced program keeps its segment's memfd open, with a high number and close-on-exec, so
that a later collector can open it as /proc/PID/fd/N.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.segment import FINISHED, NOT_FLUSHED, NOT_TRACED, Process
from cupti_etl.errors import NativeError, UsageError

_LINK = "/memfd:cupti-etl (deleted)"
_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*/memfd:cupti-etl ", re.M)


def open_segment(pid: int) -> int:
    """A descriptor of the segment that a process fills; the caller closes it.

    Raises:
        UsageError: there is no such process, it is not traced, or it cannot be looked at.
    """
    proc = Path(f"/proc/{pid}")
    try:
        status = (proc / "status").read_text()
        if re.search(r"^State:\s*Z", status, re.M):
            raise UsageError(f"process {pid} has ended")
        for link in (proc / "fd").iterdir():
            # A running program closes files all the time, also between listing and looking.
            with suppress(FileNotFoundError):
                if str(link.readlink()) == _LINK:
                    return os.open(link, os.O_RDWR | os.O_CLOEXEC)
        maps = (proc / "maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        raise UsageError(f"there is no process {pid}") from None
    except PermissionError:
        raise UsageError(
            f"process {pid} is not yours to look at", "run this as the user that it runs as"
        ) from None
    match = _MAPPING.search(maps)
    if match is None:
        raise UsageError(
            f"process {pid} is not being traced",
            "give the pid of a program under `cupti-etl capture`",
        )
    start, end = (int(part, 16) for part in match.groups())
    try:
        return os.open(proc / "map_files" / f"{start:x}-{end:x}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        raise UsageError(
            f"process {pid} has closed all its descriptors, as daemons do, and with them the "
            "way to its segment",
            "only root (CAP_SYS_ADMIN) can open its memory all the same",
        ) from None


def take_up(decoder: Decoder, pid: int) -> Process:
    """The process as ours alone, to be given to ``Collector.resume``.

    Raises:
        UsageError: it is not there, not traced, has ended, or has a collector.
    """
    fd = open_segment(pid)
    try:
        process = Process.map(decoder, fd)
        info = process.info()
        if info.pid != _own_pid(pid):
            raise UsageError(
                f"process {pid} is not being traced itself",
                f"its segment is that of process {info.pid}",
            )
        process.claim(fd)
    except NativeError as error:
        raise UsageError(f"process {pid} cannot be attached: {error.message}") from None
    finally:
        os.close(fd)
    if info.state == NOT_TRACED:
        raise UsageError(f"process {pid} is not being traced: {info.detail}")
    if info.state in (FINISHED, NOT_FLUSHED) or not process.is_alive():
        raise UsageError(f"process {pid} has ended, or is about to")
    windows = process.windows()
    if windows and windows[-1].closed_by == "collector":
        raise UsageError(
            f"process {pid} has been told to record no more, when its capture ended or paused it"
        )
    return process


def _own_pid(pid: int) -> int:
    """The process id as the process itself sees it, which may be in another namespace."""
    try:
        match = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        raise UsageError(f"there is no process {pid}") from None
    return int(match[1]) if match else pid
