"""PM sampling by NVML, with a fake one: --pm gpm."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pyarrow as pa
import pytest
from support.fakes import Fakes

import cupti_etl
from cupti_etl.config import CaptureOptions, PmOptions
from cupti_etl.errors import UsageError
from cupti_etl.pm.sampling import Sampling, check

OPTIONS = PmOptions("gpm", 100_000_000)
NO_CAPTURE = CaptureOptions(Path("unused"))
FIRST, SECOND = (f"GPU-fa4e0000-0000-0000-0000-00000000000{number}" for number in range(2))


def environment(fakes: Fakes, lacks: str = "") -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(fakes.nvml().parent), "FAKE_NVML": lacks}


def sampled(sampling: Sampling, least: int) -> pa.Table:
    """So many samples of each GPU that is sampled."""
    sampling.wait_until_ready()
    while not sampling.is_over and any(each.rows < least for each in sampling.devices):
        sampling._wait(1)
        sampling.drain()
    sampling.stop()
    batches = dict(sampling.batches(everything=True))
    sampling.close()
    return pa.table(batches["pm_sample"])


def test_columns_are_those_of_other_samples(fakes: Fakes) -> None:
    sampling = Sampling(OPTIONS, NO_CAPTURE, environment(fakes))
    rows = sampled(sampling, 3).to_pylist()
    assert {row["device_uuid"] for row in rows} == {FIRST, SECOND}
    for row in rows:
        more = 0.1 * (row["device_uuid"] == SECOND)
        shares = (row["gr_active_pct"], row["sm_active_pct"], row["dram_pct"], row["fma_pct"])
        assert shares == pytest.approx((1 + more, 2 + more, 10 + more, 12 + more))
        seconds = (row["end_ns"] - row["start_ns"]) / 1e9
        assert row["pcie_tx_bytes"] == pytest.approx((20 + more) * 2**20 * seconds)
    for uuid in (FIRST, SECOND):
        own = [row for row in rows if row["device_uuid"] == uuid]
        assert all(a["end_ns"] == b["start_ns"] for a, b in itertools.pairwise(own))
    facts = sampling.facts()
    assert (facts["pm_state"], facts["pm_clocks_locked"]) == ("finished", False)


def test_what_nvml_does_not_know_is_null(fakes: Fakes) -> None:
    sampling = Sampling(OPTIONS, NO_CAPTURE, environment(fakes, "metrics"))
    rows = sampled(sampling, 1).to_pylist()
    assert {row["sm_active_pct"] for row in rows if row["device_uuid"] == SECOND} == {None}


def test_a_gpu_that_does_not_count_is_told(fakes: Fakes) -> None:
    sampling = Sampling(OPTIONS, NO_CAPTURE, environment(fakes, "gpm"))
    rows = sampled(sampling, 1)
    assert rows["device_uuid"].unique().to_pylist() == [FIRST]
    facts = sampling.facts()
    assert facts["pm_state"] == "partial"
    assert facts["pm_detail"] == "GPU 1: NVML counts nothing on this GPU (GPM)"


def test_a_gpu_that_is_lost_leaves_the_other(fakes: Fakes) -> None:
    """The second one has two samples then."""
    sampling = Sampling(OPTIONS, NO_CAPTURE, environment(fakes, "sample"))
    sampling.wait_until_ready()
    while sampling.devices[0].rows < 4:
        sampling._wait(1)
        sampling.drain()
    sampling.stop()
    sampling.close()
    assert sampling.devices[1].rows == 2
    assert sampling.facts()["pm_state"] == "partial"
    assert sampling.failure == (
        "GPU 1: nvmlGpmSampleGet: GPU is lost (15)",
        "`nvidia-smi` says how the GPU is",
    )
    (loss,) = sampling.losses()
    assert (loss.cause, loss.device_uuid) == ("pm_failed", SECOND)
    assert loss.start_ns == sampling.devices[1].last_end_ns
    assert loss.records


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PmOptions("gpm,overview", 100_000_000), "counted by NVML"),
        (PmOptions("gpm", 10_000_000), "not between 100ms and 1s"),
    ],
)
def test_bad_options_are_refused(options: PmOptions, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check(options)


@pytest.mark.slow
def test_the_command_samples(fakes: Fakes, tmp_path: Path) -> None:
    out = tmp_path / "samples"
    words = [sys.executable, "-m", "cupti_etl", "sample", "--pm", "gpm", "--duration", "1s"]
    done = subprocess.run(
        [*words, "-o", str(out)], env=environment(fakes), capture_output=True, text=True, check=True
    )
    assert "samples of GPU 0 (Fake H200)" in done.stderr
    metrics = [*cupti_etl.open(out).sql("SELECT * FROM pm_metric WHERE metric = 'dram_pct'")]
    assert [row["hardware_name"] for row in metrics] == ["NVML_GPM_METRIC_DRAM_BW_UTIL"] * 2


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="there is NVML here")
def test_without_nvml_it_is_said(tmp_path: Path) -> None:
    sampling = Sampling(OPTIONS, NO_CAPTURE, {**os.environ, "LD_LIBRARY_PATH": ""})
    sampling.wait_until_ready()
    sampling.close()
    assert sampling.failure is not None
    assert "there is no NVML" in sampling.failure[0]
