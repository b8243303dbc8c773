"""Some traces, and what all ways to ask them have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cupti_etl.errors import EtlError
from cupti_etl.serve.opened import Opened
from cupti_etl.serve.refused import Paths
from cupti_etl.serve.token import Token

STATEMENT_BYTES = 256 << 10


@dataclass(frozen=True)
class Limits:
    """How much is served.

    Attributes:
        time_s: for the rows of one answer to be computed.
        clients: requests at once.
        memory: of the DuckDB that runs statements, as it writes sizes.
    """

    time_s: float = 60.0
    clients: int = 50
    memory: str = "1GB"


@dataclass(frozen=True)
class Served:
    """What is served, to whom, and how much of it.

    Attributes:
        opened: the traces.
        token: that lets in.
        limits: how much is served.
        paths: what hides the paths of this machine.
        on_fault: gets an error that is none of ours.
    """

    opened: Opened
    token: Token
    limits: Limits
    paths: Paths
    on_fault: Callable[[BaseException], None]

    def note(self, error: BaseException) -> None:
        """Pass an error on, if it is none of ours."""
        if not isinstance(error, EtlError):
            self.on_fault(error)
