#!/usr/bin/env python3
"""Compile the two shared objects: the one list of sources and flags.

Needs Python and a C compiler, nothing else.  Used by the wheel build, the Makefile and
the tests (which add sanitizers).
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = ["segment/locks.c", "segment/segment.c"]
LIBRARIES = {
    "libcupti_etl_inject.so": (
        [
            "inject/buffers.c",
            "inject/clock.c",
            "inject/conflict.c",
            "inject/cupti_api.c",
            "inject/descriptors.c",
            "inject/environment.c",
            "inject/fixed.c",
            "inject/handshake.c",
            "inject/inject.c",
            "inject/injector.c",
            "inject/intern.c",
            "inject/nvtx.c",
            "inject/plan.c",
            "inject/profiler.c",
            "inject/range.c",
            "inject/recording.c",
            "inject/records.c",
            "inject/selected.c",
            "inject/space.c",
            "inject/takeover_probe.c",
            "inject/timer.c",
            "inject/wakeup.c",
            *SHARED,
        ],
        "inject/exports.map",
    ),
    "libcupti_etl.so": (
        [
            "arrow/array.c",
            "arrow/builder.c",
            "arrow/dictionary.c",
            "arrow/ids.c",
            "arrow/pool.c",
            "attribution/fit.c",
            "attribution/lag.c",
            "attribution/overlap.c",
            "attribution/runs.c",
            "attribution/sample.c",
            "attribution/share.c",
            "attribution/solve.c",
            "attribution/states.c",
            "attribution/totals.c",
            "attribution/view.c",
            "collect/claim.c",
            "collect/collector.c",
            "collect/report.c",
            "collect/slots.c",
            "collect/wakeup.c",
            "decode/decode.c",
            "decode/decoder.c",
            "decode/gather.c",
            "decode/layout.c",
            "decode/text.c",
            "decode/text_columns.c",
            "decode/wide.c",
            "imports/events.c",
            "imports/json.c",
            "imports/keys.c",
            "imports/rows.c",
            "imports/sqlite.c",
            "operators/bits.c",
            "operators/busy.c",
            "operators/calls.c",
            "operators/depth.c",
            "operators/edges.c",
            "operators/heap.c",
            "operators/host.c",
            "operators/latency.c",
            "operators/nesting.c",
            "operators/operator.c",
            "operators/ordered.c",
            "operators/ranges.c",
            "operators/runs.c",
            "operators/sample.c",
            "operators/series.c",
            "operators/shared.c",
            "operators/streams.c",
            "operators/table.c",
            "operators/trend.c",
            "pm/abi.c",
            "pm/chips.c",
            "pm/cost.c",
            "pm/device.c",
            "pm/evaluate.c",
            "pm/frames.c",
            "pm/host.c",
            "pm/pm_api.c",
            "pm/reader.c",
            "pm/sampler.c",
            "pm/select.c",
            *SHARED,
        ],
        "collect/exports.map",
    ),
}
WARNINGS = "-Wall -Wextra -Wconversion -Wmissing-prototypes -Wshadow -Wstrict-prototypes"
FLAGS = f"-std=c11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -pthread {WARNINGS}"
# For development.  On a user's machine, a compiler that we have not met may warn of more.
STRICT = ["-Werror"]


def compiler() -> list[str]:
    """The C compiler's command, from $CC."""
    return shlex.split(os.environ.get("CC", "cc"))


def command(library: str, out: Path, extra: list[str]) -> list[str]:
    """The command that makes one library."""
    sources, exports = LIBRARIES[library]
    return [
        *compiler(),
        *shlex.split(FLAGS),
        *extra,
        f"-I{HERE / 'include'}",
        "-include",
        "etl/glibc.h",
        f"-I{HERE}",
        "-shared",
        f"-Wl,--version-script={HERE / exports}",
        "-Wl,-z,defs",
        "-o",
        str(out / library),
        *(str(HERE / source) for source in sources),
        # Where these are libraries of their own (glibc before 2.34).
        "-Wl,--no-as-needed",
        "-l:libdl.so.2",
        "-l:libpthread.so.0",
    ]


def build(out: Path, extra: list[str] | None = None) -> list[Path]:
    """Compile all libraries into ``out``; raises CalledProcessError if one fails."""
    out.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        subprocess.run(command(library, out, extra or []), check=True)
    return [out / library for library in LIBRARIES]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE.parent / "cupti_etl" / "native")
    parser.add_argument("--sanitize", help="for example address,undefined")
    arguments = parser.parse_args()
    extra = (
        [f"-fsanitize={arguments.sanitize}", "-fno-omit-frame-pointer"]
        if arguments.sanitize
        else []
    )
    try:
        for path in build(arguments.out, [*STRICT, *extra]):
            print(path)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        print(f"native build failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
