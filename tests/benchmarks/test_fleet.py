"""32 ranks with 100,000 kernels each: what a worker needs does not depend on how many there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEW, MANY, KERNELS = 4, 32, 100_000


@pytest.mark.slow
def test_many_ranks_need_as_much_for_each_as_few() -> None:
    words = [sys.executable, "-m", "benchmarks", "fleet", "--json", "--kernels", str(KERNELS)]
    done = subprocess.run(
        [*words, "--ranks", str(FEW), str(MANY)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # The benchmark sees itself that no kernel and no GPU is missing.
    assert done.returncode == 0, done.stderr
    few, many = json.loads(done.stdout)["figures"]["measured"]
    assert (few["ranks"], many["ranks"]) == (FEW, MANY)
    # Bytes, and no times: those depend on what else the machine does.
    for key in ("mib_read", "mib_on_disk"):
        # Workers also read themselves, once each.
        more = (many[key] - few[key]) / (MANY - FEW)
        assert 0 < more < 1.1 * few[key] / FEW
    assert many["partial_kib_per_rank"] == pytest.approx(few["partial_kib_per_rank"], rel=0.1)
    # Two queries, each of which reads times more than once, and the ends of parts.
    assert 0 < many["mib_read"] < 5 * many["mib_on_disk"]
    # What a worker kept of each rank, of which it has fourteen more, would be 1.5 MiB at most.
    assert many["worker_peak_mib"] < min(512, 1.125 * few["worker_peak_mib"])
    # What the driver holds is what the workers say.
    said_mib = (MANY - FEW) * many["partial_kib_per_rank"] / 1024
    assert many["driver_peak_mib"] < few["driver_peak_mib"] + 8 * said_mib
