"""Each fuzz target for some time: with libFuzzer if there is clang, else with driver.c.

Run it by ``make fuzz``, or ``python tests/fuzz/run.py SECONDS [TARGET ...]``.  New inputs go
to ``build/fuzz/TARGET``; a failure leaves its input in ``build/fuzz`` and ends the run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from fuzz.test_fuzz import CORPUS, MUTATIONS, SANITIZED  # noqa: E402
from support.shim import native_sources  # noqa: E402


def main(seconds: str, *targets: str) -> int:
    """The exit status: that of the first target that finds something."""
    clang = shutil.which("clang")
    build = ROOT / "build" / "fuzz"
    for target in targets or MUTATIONS:
        (build / target).mkdir(parents=True, exist_ok=True)
        sources = [HERE / f"{target}.c", *native_sources("collector")]
        sources += [] if clang else [HERE / "driver.c"]
        sanitize = [word.replace("=address", "=fuzzer,address") for word in SANITIZED]
        subprocess.run(
            [
                *(clang or "cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-pthread"),
                *(sanitize if clang else SANITIZED),
                *(f"-I{ROOT / 'native' / 'include'}", f"-I{ROOT / 'native'}"),
                *("-o", str(build / f"run-{target}"), *map(str, sources)),
            ],
            check=True,
        )
        run = [str(build / f"run-{target}")]
        if clang:
            run += [f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1"]
            run += [str(build / target), str(CORPUS / target)]
        else:
            run += [seconds, "0", "1", *map(str, sorted((CORPUS / target).iterdir()))]
        print(f"{target}: {seconds} s", flush=True)
        status = subprocess.run(run, cwd=build, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
