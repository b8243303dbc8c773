"""The formats of answers: how they are called, chosen and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from cupti_etl.render.csv import write_csv
from cupti_etl.render.json import write_json
from cupti_etl.serve.refusal import Refused


@dataclass(frozen=True)
class Format:
    """How rows are sent.

    Attributes:
        media_type: as HTTP calls it.
        write: writes rows as they come, without holding them.
    """

    media_type: str
    write: Callable[[pa.RecordBatchReader, BinaryIO], None]


def _write_arrow(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(out, reader.schema, options=options) as writer:
        for batch in reader:
            writer.write_batch(batch)


# The first is taken where nothing is said.
FORMATS = {
    "arrow": Format("application/vnd.apache.arrow.stream", _write_arrow),
    "json": Format("application/json", write_json),
    "csv": Format("text/csv", write_csv),
}


def choose_format(name: str, accept: str) -> Format:
    """The format that a request asks for.

    Args:
        name: one of ``FORMATS``, or "".
        accept: the header of that name, which counts where there is no name.

    Raises:
        Refused: the header names none of them.
    """
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
