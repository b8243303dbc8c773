"""``%%gpu``: what a cell of a notebook does on the GPU.

::

    %load_ext cupti_etl
    %%gpu
    loss = train_step()
"""

from __future__ import annotations

import contextlib
import shlex
import tempfile
import time
from pathlib import Path
from typing import Any

from cupti_etl.errors import EtlError
from cupti_etl.inprocess.capture import Capture
from cupti_etl.render.values import duration, size

# Where the line does not say: what a cell does with memory is asked often.
_KINDS = "default,memory"


class _Cell(Capture):
    """The capture of a cell, whose reader gave options."""

    _tell = staticmethod(str)


def options_of(line: str) -> dict[str, Any]:
    """Keywords of ``capture`` out of its options, as ``-o run42 --pm overview --python-stacks``."""
    options: dict[str, Any] = {}
    name = ""
    for word in shlex.split(line):
        if word == "-o" or word.startswith("--"):
            name, is_given, value = word.lstrip("-").partition("=")
            name = {"o": "out"}.get(name, name.replace("-", "_"))
            options[name] = value if is_given else True
        elif name and options[name] is True:
            options[name] = word
        else:
            raise EtlError(f"%%gpu takes options of `cupti-etl capture`, not {word!r}")
    return options


def gpu(line: str, cell: str) -> None:
    """Run a cell, and say what it did on the GPU: its time, kernels, copies, idle time and memory.

    The line takes options of ``cupti-etl capture``: ``%%gpu -o run42 --pm overview``.  The capture
    is ``_gpu`` afterwards, and its trace ``_gpu.trace``.
    """
    from IPython import get_ipython
    from IPython.core.error import UsageError as MagicError

    shell = get_ipython()
    try:
        options = {"kinds": _KINDS, **options_of(line)}
        if "out" in options:
            run = _Cell(**options).start()
        else:
            run = _start_somewhere(options)
    except EtlError as error:
        raise MagicError(f"{error}; {error.hint}" if error.hint else str(error)) from None
    begin = time.perf_counter_ns()
    try:
        shell.run_cell(cell)
    finally:
        took = time.perf_counter_ns() - begin
        run.stop()
    shell.user_ns["_gpu"] = run
    print(f"{duration(took)} on the clock; trace: {run.path}")
    _say(run)


def _start_somewhere(options: dict[str, Any]) -> Capture:
    """Start a capture into a new folder, which is there afterwards: a name that nobody chose."""
    folder = Path(tempfile.mkdtemp(prefix="cupti-etl-"))
    try:
        return _Cell(out=folder / "cell", **options).start()
    except EtlError:
        with contextlib.suppress(OSError):  # something was written
            folder.rmdir()
        raise


def _say(run: Capture) -> None:
    totals = run.trace.query("gpu_totals")
    if not totals.count():
        print("nothing ran on a GPU")
        return
    totals.show()
    counts = run.trace.sql(
        "SELECT operation, count(*) AS n, coalesce(sum(bytes), 0)::BIGINT AS bytes"
        " FROM memory GROUP BY operation ORDER BY operation"
    )
    said = [
        f"{row['n']} {row['operation']}{'s' * (row['n'] != 1)} of {size(row['bytes'])}"
        for row in counts
    ]
    if said:
        print(f"memory: {', '.join(said)}")


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext cupti_etl`` calls."""
    shell.register_magic_function(gpu, magic_kind="cell")
