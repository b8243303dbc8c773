"""What an import does not keep of a file, by why: the rows of ``import_skipped``."""

from __future__ import annotations

from typing import Any

# The rest of the trace says the same.
REDUNDANT = "redundant"
# There is no table or column for it, or it is of a version that is not known.
UNSUPPORTED = "unsupported"
# It cannot be what it says that it is, or is not there where it should be.
INVALID = "invalid"


class Skipped:
    """What was not kept of one file."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], int | None] = {}
        self._details: dict[tuple[str, str], str] = {}

    def redundant(self, what: str, events: int, detail: str) -> None:
        """Count what the rest of the trace says, too."""
        self._add(REDUNDANT, what, events, detail)

    def unsupported(self, what: str, events: int | None, detail: str) -> None:
        """Count what has no place in our tables; ``events`` is None if nobody knows how many."""
        self._add(UNSUPPORTED, what, events, detail)

    def invalid(self, what: str, events: int | None, detail: str) -> None:
        """Count what cannot be true; ``what`` is a category, a table or ``table.column``."""
        self._add(INVALID, what, events, detail)

    def _add(self, category: str, what: str, events: int | None, detail: str) -> None:
        if events == 0:
            return
        key = category, what
        before = self._events.get(key, 0)
        self._events[key] = None if events is None or before is None else before + events
        self._details[key] = detail

    def rows(self, file: str) -> list[dict[str, Any]]:
        """Its rows."""
        return [
            {
                "file": file,
                "category": category,
                "what": what,
                "events": events,
                "detail": self._details[category, what],
            }
            for (category, what), events in sorted(self._events.items(), key=lambda item: item[0])
        ]
