"""A server beside a command that makes a trace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import click

from cupti_etl.errors import UsageError, need

time_limit_option = click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up an answer that takes longer to compute.",
)


def need_the_extra() -> None:
    """See that what ``serve`` needs is installed.

    Raises:
        UsageError: it is not.
    """
    need("starlette", "uvicorn", "prometheus_client", todo="pip install 'cupti-etl[serve]'")


def serving(out: Path, port: int | None) -> AbstractContextManager[None]:
    """Serve a trace while it is made; with no port, do not.

    Raises:
        UsageError: it will be no folder, or the extra is not installed.
    """
    if port is None:
        return nullcontext()
    from cupti_etl.storage.destination import STREAM_SUFFIXES

    if str(out) == "-" or out.suffix in (".duckdb", *STREAM_SUFFIXES):
        raise UsageError(f"--serve serves a folder, and -o {out} writes none", "give -o FOLDER")
    need_the_extra()
    return _beside(out.absolute(), port)


@contextmanager
def _beside(out: Path, port: int) -> Iterator[None]:
    words = ["serve", str(out), "--port", str(port), "--until-eof"]
    server = subprocess.Popen(
        [sys.executable, "-m", "cupti_etl", *words],
        # Its end is the end of the server, also where this process is killed.
        stdin=subprocess.PIPE,
        # Standard output is the command's.
        stdout=sys.stderr,
        # Ctrl-C is for the command, which may go on after it.
        start_new_session=True,
    )
    try:
        yield
    finally:
        server.communicate()
