"""Time to decode a kernel record, and decoding's speed beside memcpy's."""

from __future__ import annotations

import argparse
import mmap
from collections.abc import Iterable
from typing import Any

from benchmarks.common import KERNEL, kind_of, median, recorded, rounded, timed
from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.segment import RECORDS, STRINGS, Process
from cupti_etl.native.loader import load

SLOT = 1 << 20
BATCH_ROWS = 65536  # as the collector takes them


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mib", type=int, default=64, help="bytes of slots, at least 1")
    parser.add_argument("--rounds", type=int, default=15)


class Slots:
    """Memory full of slots of 1 MiB, and as much to copy them to, all of it touched."""

    def __init__(self, records: Iterable[bytes], mib: int) -> None:
        self.ffi, _ = load()
        records = list(records)
        self.sizes: list[int] = []
        self.records = 0
        self._source, self._target = mmap.mmap(-1, mib * SLOT), mmap.mmap(-1, mib * SLOT)
        self.source, self.target = (
            self.ffi.from_buffer("uint8_t[]", space) for space in (self._source, self._target)
        )
        at = 0
        for slot in range(mib):
            pieces, size = [], 0
            while size + len(records[at % len(records)]) <= SLOT:
                pieces.append(records[at % len(records)])
                size += len(pieces[-1])
                at += 1
            self._source[slot * SLOT : slot * SLOT + size] = b"".join(pieces)
            self.sizes.append(size)
        self.records = at
        self.ffi.memmove(self.target, self.source, mib * SLOT)

    @property
    def bytes(self) -> int:
        return sum(self.sizes)

    def copy(self) -> None:
        for slot, size in enumerate(self.sizes):
            self.ffi.memmove(self.target + slot * SLOT, self.source + slot * SLOT, size)

    def decode(self, process: Process, decoder: Decoder, tables: Iterable[int]) -> None:
        for slot, size in enumerate(self.sizes):
            process.decode(self.source + slot * SLOT, size, RECORDS)
            for table in tables:
                if decoder.rows(table) >= BATCH_ROWS:
                    decoder.take(table)


def rate(slots: Slots, strings: list[bytes], description: Any, rounds: int) -> tuple[float, float]:
    """Medians over the rounds: seconds to decode, and memcpy's seconds over them."""
    ffi, _ = load()
    decoder = Decoder()
    process = Process.loaded(decoder, description)
    for payload in strings:
        process.decode(ffi.from_buffer("uint8_t[]", payload), len(payload), STRINGS)
    # Once before, so that the pools and dictionaries are there.
    process.decode(slots.source, slots.sizes[0], RECORDS)
    used = [table for table in range(len(decoder.tables)) if decoder.rows(table)]
    slots.decode(process, decoder, used)
    seconds, ratios = [], []
    for _ in range(rounds):
        copying = timed(slots.copy)
        seconds.append(timed(lambda: slots.decode(process, decoder, used)))
        ratios.append(copying / seconds[-1])
    return median(seconds), median(ratios)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    description, strings, records = recorded()
    kernels = [record for record in records if kind_of(record) == KERNEL]
    result: dict[str, Any] = {"mib": arguments.mib, "rounds": arguments.rounds}
    for suffix, kinds in (("", kernels), ("_mixed", records)):
        slots = Slots(kinds, arguments.mib)
        seconds, ratio = rate(slots, strings, description, arguments.rounds)
        result[f"ns_per_record{suffix}"] = rounded(seconds / slots.records * 1e9)
        result[f"gb_per_s{suffix}"] = rounded(slots.bytes / seconds / 1e9)
        result[f"ratio{suffix}"] = rounded(ratio)
        result[f"memcpy_gb_per_s{suffix}"] = rounded(slots.bytes / seconds / ratio / 1e9)
        result[f"record_bytes{suffix}"] = rounded(slots.bytes / slots.records)
    return result
