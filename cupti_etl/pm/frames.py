"""What the sampler's process sends: see ``native/pm/frames.h``."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

# struct etl_frame, and struct etl_sample_loss; enum in etl/abi.h.
HEAD = "=IIIIQQ"
MAGIC = 0x6D705045
TEXT, SAMPLES, LOSS = 1, 2, 3
# Exit status of the sampler's process where a call of CUPTI did not return.
HUNG = 75
_LOSS = "=IIqqq"
CAUSES = {
    1: ("pm_gap", "the hardware gave no samples, and no reason"),
    2: (
        "pm_overflow",
        "the hardware's buffer ran over: decoding could not keep up; a longer --pm-interval or"
        " fewer metrics help",
    ),
    3: (
        "pm_counter_data_full",
        "decoding was held up for so long that its memory was full; a longer --pm-interval helps",
    ),
    4: ("pm_failed", "sampling the GPU failed"),
}
_HEAD_BYTES = struct.calcsize(HEAD)
# More than any frame of ours: what claims more is not from our process.
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Frame:
    """A frame: its head, and the bytes that followed."""

    type: int
    device: int
    rows: int
    body: bytes


@dataclass(frozen=True)
class Gap:
    """A range of time without samples; ``samples`` intervals went by in it."""

    cause: str
    detail: str
    start_ns: int
    end_ns: int
    samples: int


class FrameReader:
    """Puts frames together from what comes out of a socket."""

    def __init__(self) -> None:
        self._gathered = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take bytes; gives the frames that are whole by now.

        Raises:
            ValueError: they are no frames.
        """
        self._gathered += data
        at = 0
        while len(self._gathered) - at >= _HEAD_BYTES:
            magic, kind, device, _, rows, size = struct.unpack_from(HEAD, self._gathered, at)
            if magic != MAGIC or size > _MOST_BYTES:
                raise ValueError("the sampler's process sent something else than frames")
            end = at + _HEAD_BYTES + size
            if end > len(self._gathered):
                break
            yield Frame(kind, device, rows, bytes(self._gathered[at + _HEAD_BYTES : end]))
            at = end
        del self._gathered[:at]


def gap(body: bytes) -> Gap:
    """The content of a LOSS frame."""
    cause, _, start_ns, end_ns, samples = struct.unpack(_LOSS, body)
    return Gap(*CAUSES[cause], start_ns, end_ns, samples)
