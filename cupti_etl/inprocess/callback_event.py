"""What a function gets that CUPTI's callbacks are handed to in line."""

from __future__ import annotations

from typing import Any

from cupti_etl.schema.callbacks import COPY_KINDS, DOMAINS


class CallbackEvent:
    """One callback of CUPTI's, as ``fn`` gets it in line.

    Attributes are those of the table ``callback_event``, and None where they are not known;
    ``site`` is ``enter`` or ``exit`` of a call, or ``moment`` for what is none.  Each is read when
    it is asked for, from a copy, so that an event can be kept.
    """

    __slots__ = ("_event", "_text", "function")

    def __init__(self, event: Any, function: str, message: str | None) -> None:
        self._event, self.function, self._text = event, function, message

    @property
    def domain(self) -> str:
        """The domain, such as ``driver``."""
        return DOMAINS[self._event.domain - 1]

    @property
    def site(self) -> str:
        """``enter``, ``exit`` or ``moment``."""
        return _SITES[self._event.site]

    @property
    def symbol(self) -> str | None:
        """The mangled name of the kernel that is launched."""
        return self._text if self._event.domain <= 2 else None

    @property
    def message(self) -> str | None:
        """The message of a mark or range of NVTX, or of a state."""
        return self._text if self._event.domain > 2 else None

    @property
    def grid(self) -> tuple[int, int, int] | None:
        """Blocks in the grid."""
        return self._sizes(self._event.grid)

    @property
    def block(self) -> tuple[int, int, int] | None:
        """Threads in a block."""
        return self._sizes(self._event.block)

    def _sizes(self, sizes: Any) -> tuple[int, int, int] | None:
        return (sizes[0], sizes[1], sizes[2]) if self._event.known & _HAS_SIZES else None

    @property
    def copy_kind(self) -> str | None:
        """The direction of a copy, such as HtoD."""
        number = self._event.copy_kind
        is_known = self._event.known & _HAS_KIND and number < len(COPY_KINDS)
        return COPY_KINDS[number] if is_known else None

    def __getattr__(self, name: str) -> int | None:
        if name in _NUMBERS:
            value: int = getattr(self._event, name)
            return value or None
        if name in _KNOWN:
            bit, member = _KNOWN[name]
            return getattr(self._event, member) if self._event.known & bit else None
        raise AttributeError(f"a callback event has no {name!r}")

    def __repr__(self) -> str:
        return f"<callback {self.domain}:{self.function} {self.site}>"


_SITES = ("enter", "exit", "moment")
_HAS_SIZES, _HAS_KIND = 2, 32
_NUMBERS = ("start_ns", "end_ns", "thread_id", "context_id", "correlation_id")
# Of the others: the bit that says that it is known, and the member.  See etl/callbacks.h.
_KNOWN = {
    "result": (1, "result"),
    "dynamic_shared_bytes": (4, "shared_bytes"),
    "stream": (8, "stream"),
    "bytes": (16, "size_bytes"),
    "src_address": (64, "src"),
    "dst_address": (128, "dst"),
    "value": (256, "value"),
    "object": (512, "object"),
}
