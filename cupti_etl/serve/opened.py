"""The traces that are served: as our own queries read them, and as statements of strangers do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cupti_etl.api import Trace, open_for_strangers
from cupti_etl.api import open as open_trace
from cupti_etl.queries.present import listing
from cupti_etl.serve.current import Current


class Opened:
    """Some traces, opened anew when they have grown.

    Args:
        paths: of the traces.
        memory: of the DuckDB that runs statements, as it writes sizes.
        look: called before one is opened; raises what keeps it from that.
    """

    def __init__(
        self, paths: Sequence[Path], memory: str, look: Callable[[], None] = lambda: None
    ) -> None:
        settings = {
            "memory_limit": memory,
            # Else beside the program, wherever that was started.
            "temp_directory": "",
            "allow_persistent_secrets": "false",
        }

        def trace() -> Trace:
            look()
            return open_trace(*paths, confined=True)

        def for_strangers() -> Trace:
            look()
            return open_for_strangers(paths, settings)

        self.trace = Current(trace, lambda: listing(paths, derived=False))
        self.for_strangers = Current(for_strangers, lambda: listing(paths, derived=True))

    def close(self) -> None:
        """Close them; each once the last answer about it is over."""
        self.trace.close()
        self.for_strangers.close()
