"""The formats of answers: how they are called, chosen and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa

from cupti_etl.render.columns import in_words
from cupti_etl.render.csv import write_csv
from cupti_etl.render.json import json_text, write_json
from cupti_etl.render.rows import Rows
from cupti_etl.render.table import View, table
from cupti_etl.serve.refused import Refused


@dataclass(frozen=True)
class Answered:
    """An answer that is to be sent.

    Attributes:
        rows: its rows.
        says: of which part of the trace they are; "" for the whole.
        command: gives the same rows in a terminal.
        notes: what belongs beside the rows, by whether there are none.
        is_statement: whether somebody chose the names of its columns.
    """

    rows: Rows
    says: str
    command: str = ""
    notes: Callable[[bool], Iterable[str]] = lambda is_empty: ()
    is_statement: bool = False


@dataclass(frozen=True)
class Format:
    """How rows are sent.

    Attributes:
        media_type: as HTTP calls it.
        write: writes rows as they come, without holding them; but for those shown to people.
    """

    media_type: str
    write: Callable[[Answered, BinaryIO], None]


# Of Arrow, the first where nothing is said; browsers know none.
COMPRESSIONS = ("zstd", "none")
SHOWN_ROWS = 1000


def _write_arrow(answered: Answered, out: BinaryIO, codec: str | None = "zstd") -> None:
    reader = answered.rows.reader()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(out, reader.schema, options=options) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_shown(answered: Answered, out: BinaryIO) -> None:
    """The first rows as ``cupti-etl query`` shows them, and the values behind the cells."""
    shown = table(answered.rows, View(wide=True, limit=SHOWN_ROWS))
    is_empty = not any(each.cells for each in shown.columns)
    told = {
        "part": answered.says,
        "command": answered.command,
        "notes": list(answered.notes(is_empty)),
        "columns": [
            {
                "name": each.name,
                "heading": each.heading if answered.is_statement else in_words(each.heading),
                "unit": each.unit,
                "is_number": each.is_number,
                "is_label": each.is_label or (each.is_subject and not each.is_number),
                "is_chosen": each.is_chosen,
                "cells": each.cells,
                "values": [_safe(value) for value in each.values],
            }
            for each in shown.columns
        ],
        "more": shown.more,
    }
    out.write(json_text(told).encode() + b"\n")


def _safe(value: Any) -> Any:
    """The value as a browser can read it: integers that a double has not, as text."""
    return str(value) if isinstance(value, int) and abs(value) >= 2**53 else value


# The first is taken where nothing is said.
FORMATS = {
    "arrow": Format("application/vnd.apache.arrow.stream", _write_arrow),
    "json": Format(
        "application/json", lambda answered, out: write_json(answered.rows.reader(), out)
    ),
    "csv": Format("text/csv", lambda answered, out: write_csv(answered.rows.reader(), out)),
    # For the page: it is asked for by name, as the header Accept cannot tell it from JSON.
    "shown": Format("application/json", _write_shown),
}
_PLAIN_ARROW = replace(FORMATS["arrow"], write=partial(_write_arrow, codec=None))


def choose_format(name: str, accept: str, compression: str = COMPRESSIONS[0]) -> Format:
    """The format that a request asks for.

    Args:
        name: one of ``FORMATS``, or "".
        accept: the header of that name, which counts where there is no name.
        compression: one of ``COMPRESSIONS``.

    Raises:
        Refused: the header names none of them.
    """
    found = _named(name, accept)
    is_plain = compression == "none" and found is FORMATS["arrow"]
    return _PLAIN_ARROW if is_plain else found


def _named(name: str, accept: str) -> Format:
    if name:
        return FORMATS[name]
    ranked = []
    for position, item in enumerate(accept.lower().split(",")):
        kind, *options = (word.strip() for word in item.split(";"))
        quality = next((word[2:] for word in options if word.startswith("q=")), "1")
        try:
            ranked.append((-float(quality), position, kind))
        except ValueError:
            continue
    for rank, _, kind in sorted(ranked):
        for each in FORMATS.values() if rank < 0 else ():
            major = each.media_type.partition("/")[0]
            if kind in ("", "*/*", f"{major}/*", each.media_type):
                return each
    kinds = ", ".join(each.media_type for each in FORMATS.values())
    raise Refused(
        406, "none of the formats of the header Accept is one of ours", f"ask for {kinds}"
    )
