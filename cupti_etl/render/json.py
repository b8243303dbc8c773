"""Rows as JSON."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pyarrow as pa

# What steers a terminal beside the characters that json escapes anyway.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def write_json(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    """An array of objects; integers in full, what JSON has no form for as text."""
    names = reader.schema.names
    separator = "["
    for batch in reader:
        lines = []
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            item = dict(zip(names, row, strict=True))
            lines.append(f"{separator}\n{json_text(item)}")
            separator = ","
        out.write("".join(lines).encode())
    out.write(b"[]\n" if separator == "[" else b"\n]\n")


def json_text(value: Any) -> str:
    """The value as JSON, in which all that is not to be seen is escaped."""
    text = json.dumps(_plain(value), ensure_ascii=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    """The value as json takes it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
