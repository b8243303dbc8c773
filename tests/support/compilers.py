"""Compilers for builds of which only the result's being there counts."""

from __future__ import annotations

import os
from pathlib import Path


def not_optimizing(folder: Path) -> str:
    """A command that compiles what `cc` does, without optimizing: in a third of the time."""
    folder.mkdir(exist_ok=True)
    compiler = folder / "cc-O0"
    compiler.write_text(
        "#!/bin/sh\n"
        'for word; do shift; [ "$word" = -O2 ] || set -- "$@" "$word"; done\n'
        'exec cc "$@"\n'
    )
    compiler.chmod(0o755)
    return str(compiler)


def with_npm(folder: Path, does: str) -> str:
    """A PATH on which npm is a script."""
    folder.mkdir()
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\necho $* >> {folder}/asked\n{does}\n")
    npm.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
