"""The fingerprint of all that the injected library, the collector library and Python share.

Each of the three reads memory that another one wrote, by descriptions that are compiled into it.
They are compared before anything is read: libraries of another build would decode rubbish, or
read beyond the buffers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from cupti_etl.schema.spec import Kind


def fingerprint(kinds: Iterable[Kind], compiled: str) -> int:
    """64 bits that are others for other tables, columns, types, labels, layouts or structs.

    Args:
        kinds: the tables of records, in their order.
        compiled: a digest of what the libraries are compiled with besides.
    """
    # Words explain and change nothing that is read.
    bare = [
        replace(
            kind,
            doc="",
            key=(),
            is_gpu_work=False,
            is_static=False,
            is_state=False,
            is_of_host=False,
            columns=tuple(replace(each, doc="x.") for each in kind.columns),
        )
        for kind in kinds
    ]
    return int(hashlib.sha256(f"{bare}\0{compiled}".encode()).hexdigest()[:16], 16)
