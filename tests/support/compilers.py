"""Compilers for builds of which only the result's being there counts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from support.shim import NATIVE

_ONLY_READING = f"""#!{sys.executable}
import shutil, subprocess, sys
from pathlib import Path
words = [word for word in sys.argv[1:] if not word.startswith(("-l", "-Wl", "-shared"))]
at = words.index("-o")
out = Path(words[at + 1])
subprocess.run(["cc", *words[:at], *words[at + 2 :], "-M"], stdout=subprocess.DEVNULL, check=True)
shutil.copy({str(NATIVE.parent / "cupti_etl" / "native")!r} + "/" + out.name, out)
"""


def not_optimizing(folder: Path) -> str:
    """A command that compiles what `cc` does, but no more than that it runs: in half the time."""
    folder.mkdir(exist_ok=True)
    compiler = folder / "cc-O0"
    compiler.write_text(
        "#!/bin/sh\n"
        'for word; do shift; case $word in -O2|-g) ;; *) set -- "$@" "$word" ;; esac; done\n'
        'exec cc "$@"\n'
    )
    compiler.chmod(0o755)
    return str(compiler)


def only_reading(folder: Path) -> str:
    """A command that reads all that `cc` would, and gives the library of this checkout.

    That every source and header is there is known in a quarter of the time.
    """
    folder.mkdir(exist_ok=True)
    compiler = folder / "cc-M"
    compiler.write_text(_ONLY_READING)
    compiler.chmod(0o755)
    return str(compiler)


def with_npm(folder: Path, does: str) -> str:
    """A PATH on which npm is a script."""
    folder.mkdir()
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\necho $* >> {folder}/asked\n{does}\n")
    npm.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
