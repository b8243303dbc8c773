"""``make wheel``: whether the wheels in a folder are what their names say.

    python scripts/check_wheels.py dist

Asks auditwheel whether a manylinux tag is true, and looks into each wheel for what must be there
and what must not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

LIBRARIES = {f"cupti_etl/native/{name}.so" for name in ("libcupti_etl", "libcupti_etl_inject")}
PAGE = {f"cupti_etl/serve/web/{name}" for name in ("index.html", "app.js", "widget.js")}
MAN_PAGE = "share/man/man1/cupti-etl.1"


def faults(wheel: Path) -> Iterator[str]:
    """What is wrong with a wheel, a sentence each."""
    platform = wheel.stem.rpartition("-")[2]
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        # A section of its own in an ELF file that was not stripped.
        unstripped = [name for name in LIBRARIES & names if b"\0.symtab\0" in content.read(name)]
    if platform == "any":
        yield from (f"it has {name}" for name in sorted(names) if name.endswith(".so"))
    else:
        yield from (f"it lacks {name}" for name in sorted(LIBRARIES - names))
        yield from (f"{name} is not stripped" for name in sorted(unstripped))
        yield from _tag_faults(wheel, platform)
    yield from (f"it lacks {name}: is there npm?" for name in sorted(PAGE - names))
    if not any(name.endswith(MAN_PAGE) for name in names):
        yield "it lacks the man pages"


def _tag_faults(wheel: Path, platform: str) -> Iterator[str]:
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r'following\s+platform\s+tag:\s+"(\w+)"', done.stdout)
    if not found:
        said = (done.stdout + done.stderr).strip()
        yield f"auditwheel finds no tag for it: {said}"
    elif found[1] != platform:
        yield f"its tag is {platform}, and auditwheel finds {found[1]}"


def main(folder: Path) -> int:
    """Entry point."""
    wheels = sorted(folder.glob("*.whl"))
    found = [f"{wheel.name}: {fault}" for wheel in wheels for fault in faults(wheel)]
    if len(wheels) != 2:
        found.append(f"{folder} has {len(wheels)} wheels: one for Linux and one for all are wanted")
    for fault in found:
        print(f"check_wheels: {fault}", file=sys.stderr)
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
