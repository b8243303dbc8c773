"""What the libraries are compiled with, as numbers that are others when it is something else."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from cupti_etl.schema.fingerprint import fingerprint
from cupti_etl.schema.spec import Kind
from tools.codegen.cdecl import BANNER, kinds_inc
from tools.codegen.headers import Facts

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def compiled(folder: Path, kinds: tuple[Kind, ...], facts: Facts) -> str:
    """A digest of the headers in ``folder``, their words without comments and layout, and of
    where CUPTI's records have the members of ``kinds``."""
    digest = hashlib.sha256(kinds_inc(kinds, facts).encode())
    for header in sorted(folder.glob("*.h")):
        words = _COMMENT.sub(" ", header.read_text()).split()
        digest.update(" ".join([header.name, *words, "\0"]).encode())
    return digest.hexdigest()


def fingerprint_h(kinds: tuple[Kind, ...], digest: str) -> str:
    """Text of ``native/generated/fingerprint.h``."""
    return (
        f"{BANNER}#ifndef ETL_FINGERPRINT\n"
        f"#define ETL_FINGERPRINT UINT64_C({fingerprint(kinds, digest):#018x})\n"
        "#endif\n"
    )
