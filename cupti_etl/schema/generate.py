"""``make generate``: write every derived file, or with ``--check`` say which are stale.

What is derived, and from what, is the list ``outputs()``; nothing else in the
repository is made by a program, except ``generated/records.json`` (``make headers``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from cupti_etl.schema.cdecl import env_h, kinds_inc
from cupti_etl.schema.headers import load_facts
from cupti_etl.schema.kinds import KINDS

ROOT = Path(__file__).parents[2]


def _abi() -> str:
    from cupti_etl.schema.abi import abi_module

    return abi_module(ROOT / "native" / "include" / "etl" / "abi.h")


def outputs() -> dict[str, Callable[[], str]]:
    """Path of each derived file, below the repository's root, and what makes it."""
    return {
        "native/generated/kinds.inc": lambda: kinds_inc(KINDS, load_facts()),
        "native/generated/env.h": env_h,
        "cupti_etl/capture/_abi.py": _abi,
    }


def stale(root: Path = ROOT) -> list[str]:
    """The derived files that are missing or differ from what would be written."""
    paths = []
    for name, make in outputs().items():
        path = root / name
        if not path.exists() or path.read_text() != make():
            paths.append(name)
    return paths


def main(arguments: list[str]) -> int:
    """Entry point; 1 if ``--check`` found a stale file."""
    names = stale()
    if "--check" in arguments:
        for name in names:
            print(f"{name} is not what the specification says: run `make generate`", file=sys.stderr)
        return 1 if names else 0
    for name in names:
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(outputs()[name]())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
