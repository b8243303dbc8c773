"""The options of the flight recorder."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

import click

from cupti_etl.config import FlightOptions
from cupti_etl.errors import UsageError
from cupti_etl.render.help import Option
from cupti_etl.storage.destination import STREAM_SUFFIXES
from cupti_etl.units import duration_ns, size_bytes

_option = functools.partial(click.option, cls=Option, section="Flight recorder")
_AFTER, _MEMORY = "5s", "512MiB"
# Less than what comes in a few seconds is no recorder.
_LEAST_BYTES = 1 << 20
# What writes a trace of the whole run, by its option.
_WHOLE = {
    "table": "--table",
    "save_raw": "--save-raw",
    "serve": "--serve",
    "index": "--index",
    "max_rows": "--max-rows",
    "max_size": "--max-size",
    "overwrite": "--overwrite",
}


def flight_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, which the command gets as one: ``flight``."""

    @_option(
        "--flight-recorder",
        metavar="TIME",
        help="Keep the last TIME in memory and write it only if something happens: see --trigger.",
    )
    @_option(
        "--trigger",
        multiple=True,
        metavar="TRIGGER",
        help="What to write for: signal (SIGUSR2), exit!=0, nvtx:NAME, slow-step>1.5x or hang>10s;"
        " can be repeated.  [default: exit!=0 and signal]",
    )
    @_option(
        "--flight-after",
        metavar="TIME",
        help=f"How long to record after a trigger.  [default: {_AFTER}]",
    )
    @_option(
        "--flight-memory",
        metavar="SIZE",
        help=f"Memory for the rows; if they need more, they are kept for a shorter time."
        f"  [default: {_MEMORY}]",
    )
    @functools.wraps(function)
    def command(
        flight_recorder: str | None,
        trigger: tuple[str, ...],
        flight_after: str | None,
        flight_memory: str | None,
        **others: Any,
    ) -> Any:
        flight = _chosen(flight_recorder, trigger, flight_after, flight_memory)
        if flight is not None:
            _check_others(others)
        return function(flight=flight, **others)

    return command


def _chosen(
    before: str | None, triggers: tuple[str, ...], after: str | None, memory: str | None
) -> FlightOptions | None:
    """What the options ask for; None if the whole run is to be written.

    Raises:
        UsageError: one of them cannot be, or needs another.
    """
    if before is None:
        if triggers or after or memory:
            raise UsageError(
                "--trigger, --flight-after and --flight-memory go with --flight-recorder",
                "add --flight-recorder 30s",
            )
        return None
    before_ns = duration_ns(before)
    if before_ns <= 0:
        raise UsageError(
            f"--flight-recorder {before} would keep nothing", "give a time, such as 30s"
        )
    most_bytes = size_bytes(memory or _MEMORY)
    if most_bytes < _LEAST_BYTES:
        raise UsageError(f"--flight-memory {memory} is too little", "give 1MiB or more")
    # Arrow is imported by what looks at rows, and not by who asks for help.
    from cupti_etl.capture.triggers import DEFAULT, parse

    for text in triggers:
        parse(text)
    chosen = tuple(dict.fromkeys(triggers)) or DEFAULT
    return FlightOptions(before_ns, duration_ns(after or _AFTER), most_bytes, chosen)


def _check_others(others: dict[str, Any]) -> None:
    for name, option in _WHOLE.items():
        if others.get(name) not in ("", None, False, ()):
            raise UsageError(
                f"--flight-recorder does not go with {option}, which is about one trace of the"
                " whole run",
                f"leave out {option}",
            )
    out = str(others["out"] or "")
    if out == "-" or out.endswith((".duckdb", *STREAM_SUFFIXES)):
        raise UsageError(
            f"--flight-recorder writes a folder for each trigger, and -o {out} is a file",
            "give -o FOLDER; `cupti-etl export` makes a file of a trace",
        )


def check_kinds(flight: FlightOptions | None, kinds: Collection[str]) -> None:
    """See that what triggers look at is recorded.

    Raises:
        UsageError: it is not.
    """
    if flight is None:
        return
    from cupti_etl.capture.triggers import parse

    for trigger in map(parse, flight.triggers):
        if trigger.needs and not set(trigger.needs) & set(kinds):
            need = " or ".join(trigger.needs)
            raise UsageError(
                f"--trigger {trigger.text} looks at {need}, which --kinds leaves out",
                f"add it: --kinds ...,{trigger.needs[0]}",
            )
