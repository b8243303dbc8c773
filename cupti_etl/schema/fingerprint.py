"""The fingerprint of all that the injected library, the collector library and Python share.

Each of the three reads memory that another one wrote, by descriptions that are compiled into it.
They are compared before anything is read: libraries of another build would decode rubbish, or
read beyond the buffers.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from cupti_etl.schema.cdecl import BANNER, kinds_inc
from cupti_etl.schema.headers import Facts
from cupti_etl.schema.spec import Kind

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def declarations(folder: Path) -> str:
    """A digest of the headers in ``folder``: their words without comments and layout."""
    digest = hashlib.sha256()
    for header in sorted(folder.glob("*.h")):
        words = _COMMENT.sub(" ", header.read_text()).split()
        digest.update(" ".join([header.name, *words, "\0"]).encode())
    return digest.hexdigest()


def fingerprint(kinds: tuple[Kind, ...], facts: Facts, headers: str) -> int:
    """64 bits that are others for other tables, columns, types, labels, layouts or structs.

    Args:
        kinds: the tables of records, in their order.
        facts: where CUPTI's records have their members.
        headers: what ``declarations`` says of those that the libraries share.
    """
    # The decoder writes what the native type says, Python reads what the Arrow type says.
    arrow = [column.type.arrow for kind in kinds for column in kind.columns]
    text = "\0".join([kinds_inc(kinds, facts), *arrow, headers])
    return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16)


def fingerprint_h(kinds: tuple[Kind, ...], facts: Facts, headers: str) -> str:
    """Text of ``native/generated/fingerprint.h``."""
    number = fingerprint(kinds, facts, headers)
    return (
        f"{BANNER}#ifndef ETL_FINGERPRINT\n"
        f"#define ETL_FINGERPRINT UINT64_C({number:#018x})\n"
        "#endif\n"
    )
