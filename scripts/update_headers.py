"""``make headers``: take the facts of NVIDIA's newest public CUPTI header.

Downloads the header wheels, compiles a probe against them and writes the numbers to
``tools/codegen/generated``, and the names of callbacks to ``cupti_etl/schema/callback_names.py``.
``make generate`` derives the rest from them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cupti_etl.errors import EtlError
from tools.codegen.callback_facts import CALLBACKS, dump_callbacks, extract_callbacks
from tools.codegen.callbacks import callback_names
from tools.codegen.header_wheels import fetch_headers
from tools.codegen.headers import RECORDS, dump, extract, load_facts

ROOT = Path(__file__).resolve().parents[1]
NAMES = ROOT / "cupti_etl" / "schema" / "callback_names.py"
MAJOR = 13


def main() -> int:
    """Entry point."""
    try:
        headers = fetch_headers(MAJOR, ROOT / ".cache" / "headers", refresh=True)
        facts = extract(headers.include_dirs)
        callbacks = extract_callbacks(headers.include_dirs)
    except EtlError as error:
        print(f"make headers: {error.message}\n  {error.hint}".rstrip(), file=sys.stderr)
        return 1
    print(", ".join(f"{name} {version}" for name, version in sorted(headers.versions.items())))
    before = load_facts()
    print(f"CUPTI API version {before['version']} -> {facts['version']}")
    for name in sorted(before["structs"].keys() | facts["structs"].keys()):
        old, new = (each["structs"].get(name) for each in (before, facts))
        if old != new:
            print(f"  {name}: {'new' if old is None else 'gone' if new is None else 'changed'}")
    RECORDS.write_text(dump(facts))
    CALLBACKS.write_text(dump_callbacks(callbacks))
    NAMES.write_text(callback_names(callbacks))
    for path in (RECORDS, CALLBACKS, NAMES):
        print(f"{path.relative_to(ROOT)} written")
    print("now run `make generate`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
