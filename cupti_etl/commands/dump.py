"""``cupti-etl dump``: a recording or a live segment as text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._complete import tables as complete_tables
from cupti_etl.errors import NativeError
from cupti_etl.progress import printable
from cupti_etl.render.local_path import local_path

_PID = re.compile(r"[0-9]{1,18}")  # other digits, and more of them, are no number of a process


@click.command()
@click.argument("source", shell_complete=files)
@click.option("--headers", is_flag=True, help="Print only processes and slots, no records.")
@click.option(
    "--table",
    "tables",
    multiple=True,
    shell_complete=complete_tables,
    metavar="TABLE",
    help="Print only records of this table; can be repeated.",
)
def command(source: str, headers: bool, tables: tuple[str, ...]) -> None:
    """Print a recording, or the state of a traced process, as text.

    SOURCE is a file of `capture --save-raw`, or the process id of a traced program.

    A recording is printed as one line for each process, slot and record, in the order in which
    CUPTI returned them, without NULL columns. Of a running process, the header and the states of
    its slots are printed; nothing is taken from it.
    """
    lines = (
        _live(int(source))
        if _PID.fullmatch(source)
        else _recording(local_path(source), headers, set(tables))
    )
    for line in lines:
        click.echo(printable(line))


def _process_lines(process: Any) -> Iterator[str]:
    from cupti_etl.capture.segment import STATES

    info = process.info()
    state = STATES[info.state].replace("_", " ")
    yield f"process {info.process_id} pid={info.pid} state={state} cupti={info.cupti_version}"
    for name, value in vars(info).items():
        if name not in ("process_id", "pid", "state", "cupti_version") and value not in (
            0,
            "",
            None,
        ):
            yield f"  {name}: {value}"
    strides = " ".join(f"{kind}:{size}" for kind, size in process.strides().items())
    yield f"  strides: {strides}"


def _recording(path: Path, headers: bool, tables: set[str]) -> Iterator[str]:
    from cupti_etl.capture.decoder import Decoder
    from cupti_etl.capture.recording import RecordedProcesses, read_recording
    from cupti_etl.capture.segment import STRINGS

    decoder = Decoder()
    processes = RecordedProcesses(decoder)
    for frame in read_recording(path):
        if frame.tag == b"HEAD":
            yield from _process_lines(processes.take(frame))
            continue
        content = "strings" if frame.content == STRINGS else "records"
        yield f"slot process={frame.process_id} bytes={len(frame.payload)} content={content}"
        if frame.process_id not in processes.known:
            yield "  of a process without a header: not decoded"
            continue
        processes.take(frame)
        for index, table in enumerate(decoder.tables):
            if decoder.rows(index):
                rows = decoder.take(index).to_pylist()
                if not headers and (not tables or table in tables):
                    yield from (f"  {table} {_columns(row)}" for row in rows)


def _columns(row: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in row.items() if value is not None)


def _live(pid: int) -> Iterator[str]:
    from cupti_etl.capture.decoder import Decoder
    from cupti_etl.capture.resume import open_segment
    from cupti_etl.capture.segment import Process

    fd = open_segment(pid)
    try:
        process = Process.map(Decoder(), fd)
    except NativeError as error:
        raise NativeError(f"the segment of process {pid} cannot be read: {error.message}") from None
    finally:
        os.close(fd)
    yield from _process_lines(process)
