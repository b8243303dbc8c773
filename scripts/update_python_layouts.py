#!/usr/bin/env python3
"""Take the layouts of CPython's objects from the headers of interpreters.

    python scripts/update_python_layouts.py INCLUDE...

Each folder is one that has Python.h.  Rows of other versions stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.codegen.python_layouts import LAYOUTS, dump, extract, load_layouts


def main(folders: list[str]) -> None:
    """Write the rows and say which are new."""
    layouts = load_layouts() if LAYOUTS.exists() else {}
    for folder in folders:
        version, row = extract(Path(folder))
        print(version, "as before" if layouts.get(version) == row else "is new")
        layouts[version] = row
    by_number = sorted(layouts.items(), key=lambda item: int(item[0].split(".")[1]))
    LAYOUTS.write_text(dump(dict(by_number)))


if __name__ == "__main__":
    main(sys.argv[1:])
