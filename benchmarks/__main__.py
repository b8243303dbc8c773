"""`python -m benchmarks NAME [--json] [options]`: run one benchmark.

What is printed is one object: the figures, the command and the machine that made them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import sys
import time

from benchmarks.common import machine

NAMES = (
    "baselines",
    "bucket",
    "callbacks",
    "cold",
    "decode",
    "drain",
    "exports",
    "fleet",
    "flight",
    "imports",
    "lag",
    "peers",
    "pm_join",
    "queries",
    "query",
    "ranges",
    "retention",
    "size",
    "stalled",
    "startup",
    "top",
)


def main(words: list[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    benchmarks = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    # To import all of them takes longer than some take.
    for name in [name for name in NAMES if name in words[:1]] or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        one = benchmarks.add_parser(name, help=module.__doc__.splitlines()[0])
        one.add_argument("--json", action="store_true", help="print one JSON object")
        module.options(one)
    arguments = parser.parse_args(words)
    module = importlib.import_module(f"benchmarks.{arguments.name}")
    result = {
        "benchmark": arguments.name,
        "command": "python -m benchmarks " + shlex.join(words),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "figures": module.run(arguments),
    }
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        for key, value in result["figures"].items():
            print(f"{key:<32} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
