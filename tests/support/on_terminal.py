"""A standard output, or error, that says that it is a terminal."""

from __future__ import annotations

import io


class OnTerminal(io.TextIOWrapper):
    """What is written to it is kept, in this process; ``support.terminal`` is a real one."""

    def __init__(self) -> None:
        self._kept = io.BytesIO()
        super().__init__(self._kept, "utf-8", newline="", write_through=True)

    def isatty(self) -> bool:
        return True

    def getvalue(self) -> str:
        """All that was written."""
        self.flush()
        return self._kept.getvalue().decode()
