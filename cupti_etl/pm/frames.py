"""What the sampler's process sends: see ``native/pm/frames.h``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cupti_etl.native.headers import constant, packed, size, view

_FRAME = "etl_frame"
_MAGIC = constant("ETL_FRAME_MAGIC")
TEXT = constant("ETL_FRAME_TEXT")
SAMPLES = constant("ETL_FRAME_SAMPLES")
LOSS = constant("ETL_FRAME_LOSS")
# Exit status of the sampler's process where a call of CUPTI did not return.
HUNG = 75
CAUSES = {
    constant("ETL_GAP_UNKNOWN"): ("pm_gap", "the hardware gave no samples, and no reason"),
    constant("ETL_GAP_OVERFLOW"): (
        "pm_overflow",
        "the hardware's buffer ran over: decoding could not keep up; a longer --pm-interval or"
        " fewer metrics help",
    ),
    constant("ETL_GAP_FULL"): (
        "pm_counter_data_full",
        "decoding was held up for so long that its memory was full; a longer --pm-interval helps",
    ),
    constant("ETL_GAP_FAILED"): ("pm_failed", "sampling the GPU failed"),
}
_HEAD_BYTES = size(_FRAME)
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
            head = view(_FRAME, bytes(self._gathered[at : at + _HEAD_BYTES]))
            if head.magic != _MAGIC or head.bytes > _MOST_BYTES:
                raise ValueError("the sampler's process sent something else than frames")
            end = at + _HEAD_BYTES + head.bytes
            if end > len(self._gathered):
                break
            body = bytes(self._gathered[at + _HEAD_BYTES : end])
            yield Frame(head.type, head.device, head.rows, body)
            at = end
        del self._gathered[:at]


def gap(body: bytes) -> Gap:
    """The content of a LOSS frame."""
    loss = view("etl_sample_loss", body)
    return Gap(*CAUSES[loss.cause], loss.start_ns, loss.end_ns, loss.samples)


def text_frame(body: bytes) -> bytes:
    """A frame of text, as the library sends it."""
    return packed(_FRAME, magic=_MAGIC, type=TEXT, bytes=len(body)) + body
