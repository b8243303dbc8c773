"""Whole captures without a GPU: the fake driver and CUPTIs as the tests use them.

fakes.env("13.5.25", log=folder)       environment of a program to run
fakes.program(threads=4, launches=100) its command line
fakes.log(folder)                      what the fake CUPTIs of all processes emitted
"""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.fake_build import Builder, layouts

# Newest release of each major version, and all that the facts know.
CUPTI_12, CUPTI_13 = "12.9.79", "13.5.25"
KERNEL, MEMCPY, MEMSET, DRIVER, RUNTIME = 10, 1, 2, 4, 5
DEVICE, CONTEXT, MARKER, MARKER_DATA, OVERHEAD = 8, 9, 12, 13, 17
STREAM, SYNCHRONIZATION, MEMORY2, FUTURE = 37, 38, 49, 60

_KINDS, _CBIDS, _NAMES = 64, 1024, 4096
_APIS = {"driver": 1, "runtime": 2}
_COUNTERS = (
    "requests",
    "completions",
    "null_requests",
    "dirty_buffers",
    "misaligned",
    "flush",
    "flush_forced",
    "flush_in_callback",
    "bytes",
    "next_record",
    "enables",
    "clients",
    "dropped_reported",
    "max_outstanding",
    "outstanding",
    "played",
    "switches",
    "disables",
    "subscriptions",
    "unsubscriptions",
    "refused_subscriptions",
    "finalizes",
    "callbacks",
    "untimed",
    "unfenced",
    "pool_limit",
    "device_buffer_size",
    "outside",
)

Row = dict[str, "int | bytes | str | None"]


def kernel_name(index: int) -> str:
    """The name that the fake driver gives kernel number ``index``."""
    base = f"kernel_{index}"
    if index % 64 == 63:
        return f"_Z{len(base) + 3001}{base}_{'x' * 3000}Pfi"
    shapes = (
        f"_Z{len(base)}{base}Pfi",
        f"_ZN4fake5space{len(base)}{base}EPKfPfi",
        f"_Z{len(base)}{base}IfLi{index}EEvPT_i",
        f"triton_poi_fused_{base}",
    )
    return shapes[index % 4]


@dataclass
class ProcessLog:
    """What one process' fake CUPTI did.  Counts are by activity kind.

    Attributes:
        made: records that the program's work gave rise to.
        delivered: of these, handed to a client's completion callback.
        dropped: of these, dropped for want of a buffer or because the test asked for it.
        incomplete: of those delivered, without an end.
        sum_start: sum of ``start`` (or ``timestamp``) over the delivered, modulo 2**64;
            ``sum_end`` and ``sum_correlation`` likewise.
        api: delivered calls by (runtime or driver, callback id).
        names: delivered kernels by name.
        clients: records delivered to the first, second, ... client that registered.
        counters: how often the client called what; see ``_COUNTERS``.  ``switches`` is the
            sum of 1 (polling makes no synchronization records) or 2 (it does), 4 (device
            times of events), 8 (sources of allocations), 16 (device graphs) and 256 for
            each counter of managed memory.  ``untimed`` are records whose start and end
            are 0 for want of a device buffer; ``unfenced`` changes of a kind's fields while
            records waited to be handed over.  ``pool_limit`` and ``device_buffer_size`` are what
            a client set these attributes to, 0 if it did not.  ``outside``: kinds that were
            switched on or off by a thread that was not at the entry of a call.
        enabled: of each kind, how many subscribers want it now (at the end).
        ended: whether the process ended in order.
    """

    path: Path
    pid: int
    release: str
    version: int
    ended: bool
    made: dict[int, int]
    delivered: dict[int, int]
    dropped: dict[int, int]
    incomplete: dict[int, int]
    sum_start: dict[int, int]
    sum_end: dict[int, int]
    sum_correlation: dict[int, int]
    clients: list[int]
    api: dict[tuple[str, int], int]
    names: dict[str, int]
    counters: dict[str, int]
    enabled: dict[int, int]

    def rows(self, kind: int | None = None, client: int = 0) -> list[Row]:
        """Every record that the client got, its members by name; needs ``log_rows=True``.

        Integers are unsigned as they lie in the record, members that are no integers are
        bytes, ``name`` and ``domain`` are text.  A user-defined record has the selected
        members alone.
        """
        found = _read_rows(self.path.with_suffix(".rows"), self.release)
        return [row for k, c, row in found if c == client and kind in (None, k)]


class Log(list[ProcessLog]):
    """The logs of all processes of a run."""

    def delivered(self, kind: int) -> int:
        """Records of a kind that clients got, over all processes."""
        return sum(process.delivered.get(kind, 0) for process in self)

    def rows(self, kind: int) -> list[Row]:
        """Rows of a kind over all processes."""
        return [row for process in self for row in process.rows(kind)]


def _read_text(data: bytes, offset: int) -> tuple[str | None, int]:
    """A text or None, and where it ends."""
    (length,) = struct.unpack_from("<I", data, offset)
    offset += 4
    if length == 0xFFFFFFFF:
        return None, offset
    return data[offset : offset + length].decode(), offset + length


def _read_rows(path: Path, release: str) -> Iterator[tuple[int, int, Row]]:
    data = path.read_bytes()
    known = layouts(release)
    offset = 0
    while offset < len(data):
        kind, stride, client, selected = struct.unpack_from("<4I", data, offset)
        offset += 16
        members = known[kind]["members"] if kind in known and not selected else {}
        for _ in range(selected):
            name, offset = _read_text(data, offset)
            members[name] = struct.unpack_from("<2I", data, offset)
            offset += 8
        record = data[offset : offset + stride]
        texts: list[str | None] = []
        offset += stride
        for _ in ("name", "domain"):
            text, offset = _read_text(data, offset)
            texts.append(text)
        row: Row = {"kind": kind}
        for name, (at, size) in members.items():
            piece = record[at : at + size]
            row[name] = int.from_bytes(piece, "little") if size <= 8 else piece
        if "name" in row:
            row["name"] = texts[0]
        if "domain" in row:
            row["domain"] = texts[1]
        yield kind, client, row


def _read_counters(path: Path) -> ProcessLog:
    data = path.read_bytes()
    magic, pid, version, ended = struct.unpack_from("<4Q", data)
    if magic != 0x32544E5543454B46:
        raise ValueError(f"{path} is no log of a fake CUPTI")
    offset = 32 + 32

    def take(count: int) -> dict[int, int]:
        nonlocal offset
        values = struct.unpack_from(f"<{count}Q", data, offset)
        offset += 8 * count
        return {i: value for i, value in enumerate(values) if value}

    counters = take(64)
    made, delivered, dropped, incomplete, start, end, correlation = (take(_KINDS) for _ in range(7))
    enabled = take(_KINDS)
    clients = take(8)
    calls = [take(_CBIDS) for _ in range(3)]
    return ProcessLog(
        path=path,
        pid=pid,
        release=data[32:64].rstrip(b"\0").decode(),
        version=version,
        ended=bool(ended),
        made=made,
        delivered=delivered,
        dropped=dropped,
        incomplete=incomplete,
        sum_start=start,
        sum_end=end,
        sum_correlation=correlation,
        clients=[clients.get(i, 0) for i in range(8)],
        api={(api, c): n for api, i in _APIS.items() for c, n in calls[i].items()},
        names={kernel_name(index): count for index, count in take(_NAMES).items()},
        enabled=enabled,
        counters={name: counters.get(i, 0) for i, name in enumerate(_COUNTERS)},
    )


class Fakes:
    """Builds what is asked for, at the first use."""

    def __init__(self) -> None:
        self._build = Builder()

    def env(
        self,
        cupti: str | None = CUPTI_13,
        *,
        log: Path | None = None,
        play: Path | None = None,
        **options: int | str | bool | Path,
    ) -> dict[str, str]:
        """Environment additions for a process that shall see the fakes.

        Args:
            cupti: release of the fake CUPTI; None for a driver alone.
            log: folder for the log; made if missing.
            play: recording, may be gzipped.
            options: ``late_ms=5`` is FAKE_CUPTI_LATE_MS=5; ``driver_version=12080`` is
                FAKE_DRIVER_VERSION=12080, ``pm_full_at=3`` FAKE_PM_FULL_AT=3.
                All are listed in fake_cupti.h, fake_cupti_pm.c, fake_cupti_pcs.c,
                fake_cupti_ranges.c, fake_cupti_sass.c,
                fake_pm.h and fake_driver.c.
        """
        folders = [self._build.driver().parent]
        env = {}
        if cupti is not None:
            folders.append(self._build.cupti(cupti).parent)
            major, minor = map(int, cupti.split(".")[:2])
            env["FAKE_DRIVER_VERSION"] = str(major * 1000 + minor * 10)
        if log is not None:
            log.mkdir(parents=True, exist_ok=True)
            env["FAKE_CUPTI_LOG"] = str(log)
        if play is not None:
            env["FAKE_CUPTI_PLAY"] = str(self._unzipped(play))
        for name, value in options.items():
            key = (
                name.upper()
                if name.startswith(("driver_", "pm_", "pcs_", "ranges_", "sass_"))
                else f"CUPTI_{name.upper()}"
            )
            env[f"FAKE_{key}"] = str(int(value) if isinstance(value, bool) else value)
        existing = os.environ.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = ":".join([*map(str, folders), *([existing] if existing else [])])
        return env

    def driver(self) -> Path:
        """The fake driver's library."""
        return self._build.driver()

    def nvml(self) -> Path:
        """The fake NVML's library."""
        return self._build.nvml()

    def cupti(self, release: str = CUPTI_13) -> Path:
        """The library itself, for options that take a path."""
        return self._build.cupti(release)

    def torch(self) -> Path:
        """The folder that a fake torch is imported from; see tests/support/fake_torch."""
        return self._build.torch()

    def client(self) -> Path:
        """A small injectable client that needs nothing of ours."""
        return self._build.client()

    def nccl(self, **options: int) -> list[str]:
        """Command line of the program that calls NCCL's profiler plugin; see fake_nccl.c."""
        words = [f"{name}={value}" for name, value in options.items()]
        return [str(self._build.nccl()), *words]

    def program(self, **options: int | str | bool | Path) -> list[str]:
        """Command line of the test program; ``copy_every=5`` is ``--copy-every=5``."""
        words = [str(self._build.program())]
        for name, value in options.items():
            text = str(int(value) if isinstance(value, bool) else value)
            words.append(f"--{name.replace('_', '-')}={text}")
        return words

    @staticmethod
    def log(folder: Path) -> Log:
        """What the fake CUPTIs of all processes emitted, by process id."""
        found = [_read_counters(path) for path in sorted(folder.glob("*.counters"))]
        return Log(sorted(found, key=lambda process: process.pid))

    def _unzipped(self, path: Path) -> Path:
        if path.suffix != ".gz":
            return path
        target = self._build.folder / path.stem
        if not target.exists():
            partial = target.with_name(f"{target.name}.{os.getpid()}")
            partial.write_bytes(gzip.decompress(path.read_bytes()))
            partial.rename(target)
        return target
