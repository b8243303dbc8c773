"""Names of outputs with ``%h``, ``%p`` and ``%r`` in them, as several nodes and ranks need them."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

from cupti_etl.config import LAUNCHERS
from cupti_etl.errors import UsageError


def expand(name: str, environment: Mapping[str, str]) -> str:
    """A name with ``%h`` (host), ``%p`` (our pid), ``%r`` (rank) and ``%%`` put in.

    Raises:
        UsageError: another letter follows a ``%``, or there is no rank.
    """
    return re.sub(r"%(.?)", lambda match: _value(match[1], environment), name, flags=re.DOTALL)


def _value(letter: str, environment: Mapping[str, str]) -> str:
    if letter == "h":
        return socket.gethostname()
    if letter == "p":
        return str(os.getpid())
    if letter == "r":
        return _rank(environment)
    if letter == "%":
        return "%"
    raise UsageError(
        f"-o does not know %{letter}",
        "%h is the host, %p the process id, %r the rank, and %% a percent sign",
    )


def _rank(environment: Mapping[str, str]) -> str:
    for variable in LAUNCHERS["RANK"]:
        rank = environment.get(variable, "")
        if rank.isdecimal():
            return rank
    raise UsageError(
        f"-o has %r, but none of {', '.join(LAUNCHERS['RANK'])} holds a rank",
        "start the capture with srun, mpirun or torchrun, set RANK, or use %h or %p instead",
    )
