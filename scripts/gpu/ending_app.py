"""The demo's workload in a process that never gets to exit().

    python ending_app.py interrupted|fork|forkserver [option of the workload ...]

``interrupted`` ends by Ctrl-C, with status 130 for a shell; the others are ways to start a child
of Python's multiprocessing, which ends by ``_exit``.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys

from cupti_etl.demo import workload


def main(how: str, *options: str) -> int | None:
    if how == "interrupted":
        workload.main(options)
        signal.raise_signal(signal.SIGINT)
    child = multiprocessing.get_context(how).Process(target=workload.main, args=(options,))
    child.start()
    child.join()
    return child.exitcode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
