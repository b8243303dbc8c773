"""PM sampling beside a capture: every sample that the fake gave is a row, or a loss."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.captures import Capture, Capturer, running, table
from support.pm import sampled, value
from support.trace import described
from support.waiting import wait_until

import cupti_etl

pytestmark = pytest.mark.slow
KERNEL = 10
GPU = "GPU-fa4e0000-0000-0000-0000-0000000000{:02x}"
PIPES = (
    "adu",
    "alu",
    "alu_realtime",
    "cbu",
    "fma",
    "fma_type_fp16",
    "fmaheavy",
    "fmaheavy_realtime",
    "fmalite",
    "fmalite_realtime",
    "ipa",
    "lsu",
)
# The program lasts long enough for a few decodes: each is of about 500 samples.
LASTS = {"launches": 200, "linger_ms": 300}
FAST = ("--pm", "--pm-interval", "20us")


def log_of(capture: Capture) -> Path:
    return capture.trace.with_name(capture.trace.name.replace("trace", "log"))


def rows_of(capture: Capture, device: int = 0) -> pa.Table:
    """The samples of a GPU by time: which of two parts is written first depends on the machine."""
    samples = table(capture.trace, "pm_sample").sort_by("start_ns")
    return samples.filter(pc.equal(samples["device_uuid"], GPU.format(device)))


def check_rows(capture: Capture, device: int = 0) -> None:
    """Rows are the samples, and what is missing between them is told, exactly."""
    given = sampled(log_of(capture))[device]
    rows = rows_of(capture, device)
    assert rows["start_ns"].to_pylist() == given.starts
    assert rows["end_ns"].to_pylist() == [start + given.interval_ns for start in given.starts]
    told = [
        (loss["start_ns"], loss["end_ns"])
        for loss in capture.rows("loss")
        if loss["device_uuid"] == GPU.format(device) and loss["cause"] != "pm_failed"
    ]
    # After an overflow at the very end no sample follows.
    last = given.starts[-1] + given.interval_ns if given.starts else None
    assert [gap for gap in told if gap[0] != last] == given.gaps
    assert len(told) <= len(given.gaps) + 1


@pytest.mark.parametrize("release", ["12.6.80", "12.8.90", "13.1.115", "13.5.25"])
def test_samples_and_records_are_all_there(capturer: Capturer, release: str) -> None:
    capture = capturer.run(release, FAST, **LASTS)
    assert capture.status == 0, capture.stderr
    check_rows(capture)
    capture.check_sums()
    assert capture.count("kernel") == capture.log.delivered(KERNEL) == 200
    rows = rows_of(capture)
    assert len(rows) > 5000
    assert f"{len(rows):,} samples of GPU 0" in capture.stderr
    (facts,) = capture.rows("capture")
    assert facts["pm_state"] == "finished"
    assert facts["pm_metrics"] == "overview"
    assert facts["pm_interval_ns"] == 20_000
    assert facts["pm_clocks_locked"] is True
    assert sampled(log_of(capture))[0].is_stopped


def expected_value(metric: dict[str, Any], start_ns: int) -> float:
    """What the fake gives for a metric, or what is to be made of two: "100 * a.avg / b.avg"."""
    words = metric["hardware_name"].split()
    counters = [word for word in words if "__" in word]
    bases = [f"{unit}__{rest.split('.')[0]}" for unit, rest in (w.split("__") for w in counters)]
    if len(words) == 1:
        return value(bases[0], metric["unit"], start_ns, 20_000)
    part = value(bases[0], "1", start_ns, 20_000)
    whole = value(bases[1], "1", start_ns, 20_000) if len(bases) == 2 else 20_000
    return float(words[0]) * part / whole


def test_values_are_those_of_the_metrics(capturer: Capturer) -> None:
    capture = capturer.run(options=FAST, **LASTS)
    rows = rows_of(capture)
    metrics = {row["metric"]: row for row in capture.rows("pm_metric")}
    assert list(metrics) == rows.column_names[3:]
    assert {"sm_active_pct", "dram_read_pct", "pcie_rx_bytes", "gpc_clock_hz"} <= metrics.keys()
    for name, metric in metrics.items():
        found = rows[name].to_pylist()
        for at, start in list(enumerate(rows["start_ns"].to_pylist()))[::97]:
            expected = expected_value(metric, start)
            assert found[at] == pytest.approx(expected, rel=1e-12), name
    columns = described(capture.trace, "pm_sample")
    assert list(columns) == rows.column_names
    assert columns["sm_active_pct"]["unit"] == "%"


def test_metrics_by_name(capturer: Capturer) -> None:
    names = "sm__cycles_active.avg,dram_read_pct"
    capture = capturer.run(options=["--pm", names, "--pm-interval", "100us"], **LASTS)
    check_rows(capture)
    assert rows_of(capture).column_names[3:] == names.split(",")
    (by_name, alias) = capture.rows("pm_metric")
    assert (by_name["unit"], by_name["aggregation"], by_name["preset"]) == ("1", "sum", None)
    assert (alias["unit"], alias["aggregation"]) == ("%", "mean")
    with cupti_etl.open(capture.trace) as trace:
        result = trace.sql('SELECT avg("sm__cycles_active.avg") AS cycles FROM pm_sample')
        assert [row["cycles"] > 0 for row in result] == [True]


def test_gpus_that_are_chosen(capturer: Capturer) -> None:
    fake = {"driver_devices": 3}
    options = (*FAST, "--pm-devices", f"0,{GPU.format(2)}")
    capture = capturer.run(options=options, fake=fake, **LASTS)
    assert sampled(log_of(capture)).keys() == {0, 2}
    for device in (0, 2):
        check_rows(capture, device)
    assert len(table(capture.trace, "pm_sample")) == len(rows_of(capture)) + len(
        rows_of(capture, 2)
    )


def test_a_gpu_that_is_not_there(capturer: Capturer) -> None:
    capture = capturer.run(options=(*FAST, "--pm-devices", "7"), **LASTS)
    assert capture.status == 0
    assert f"there is no GPU 7; there is 0 ({GPU.format(0)})" in capture.stderr


@pytest.mark.parametrize(
    ("fake", "cause", "begins_anew"),
    [
        ({"pm_overflow_at": 3}, "pm_overflow", True),
        ({"pm_full_at": 3}, "pm_counter_data_full", False),
        ({"pm_full_at": 3, "pm_full_forever": 1}, "pm_counter_data_full", True),
        ({"pm_buffer": 5}, "pm_overflow", True),
    ],
)
def test_sampling_goes_on_after_a_loss(
    capturer: Capturer, fake: dict[str, Any], cause: str, begins_anew: bool
) -> None:
    capture = capturer.run(options=FAST, fake=fake, **LASTS)
    assert capture.status == 0, capture.stderr
    check_rows(capture)
    given = sampled(log_of(capture))[0]
    # A machine that is busy with other things can let the buffer run over as well.
    overflows = len(capture.losses().get("pm_overflow", []))
    assert given.begins > 1 if begins_anew else given.begins == 1 + overflows
    losses = capture.losses()[cause]
    for loss in losses:
        length = loss["end_ns"] - loss["start_ns"]
        assert loss["records"] == (length + 10_000) // 20_000
        assert loss["table_name"] == "pm_sample"
    missing = sum(loss["records"] for loss in losses)
    assert f"{missing:,} samples missing ({cause}" in capture.stderr
    assert capture.rows("capture")[0]["pm_state"] == "finished"


@pytest.mark.parametrize(
    ("fake", "words", "hint"),
    [
        ({"pm_lost_at": 10}, "CUPTI_ERROR_UNKNOWN (999)", "is the GPU lost"),
        ({"pm_kill_at": 10}, "the process that samples ended with signal 9", "--cupti"),
        ({"pm_hang_at": 10}, "CUPTI did not come back from a call", "--cupti"),
    ],
)
def test_the_capture_goes_on_without_the_sampler(
    capturer: Capturer, tmp_path: Path, fake: dict[str, Any], words: str, hint: str
) -> None:
    # Lost half a second after the program's work is done.
    ready = tmp_path / "ready"
    lasts = {"launches": 200, "linger_ms": 4000, "ready": str(ready)}
    fake = {**fake, "pm_after": ready}
    options = ("--pm", "--pm-interval", "100us")
    capture = capturer.run(options=options, fake=fake, **lasts)
    assert capture.status == 0, capture.stderr
    capture.check_sums()
    assert capture.count("kernel") == 200
    assert "sampling failed: " in capture.stderr
    (facts,) = capture.rows("capture")
    assert facts["pm_state"] == "partial"
    assert words in facts["pm_detail"]
    (loss,) = capture.losses()["pm_failed"]
    rows = rows_of(capture)
    # What came before is there, without a hole.
    starts = rows["start_ns"].to_pylist()
    assert starts == sampled(log_of(capture))[0].starts[: len(starts)]
    assert len(starts) > 500
    assert loss["start_ns"] == rows["end_ns"][-1].as_py()
    assert loss["device_uuid"] == GPU.format(0)
    ready.unlink()
    required = capturer.run(options=(*options, "--pm-required"), fake=fake, **lasts)
    assert required.status == 4
    assert hint in required.stderr
    assert required.count("kernel") == 200


REFUSALS = {
    "GetCounterAvailability=35": "for administrators here",
    "Enable=26": "another tool holds the GPU's counters",
    "SetConfig=27": "cannot sample its counters",
    "Enable=43": "partitioned (MIG)",
    "Start=999": "an error of its own",
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_says_what_to_do(capturer: Capturer, refusal: str) -> None:
    fake = {"fail": f"cuptiPmSampling{refusal}"}
    capture = capturer.run(options=FAST, fake=fake, **LASTS)
    assert capture.status == 0, capture.stderr
    assert REFUSALS[refusal] in capture.stderr
    assert capture.count("kernel") == 200
    assert capture.count("pm_sample") == 0
    (facts,) = capture.rows("capture")
    assert facts["pm_state"] == "failed"
    assert REFUSALS[refusal] in facts["pm_detail"]
    assert facts["pm_clocks_locked"] is None


def test_required_and_refused_starts_nothing(capturer: Capturer) -> None:
    capture = capturer.run(
        options=(*FAST, "--pm-required"),
        fake={"fail": "cuptiPmSamplingEnable=26"},
        print="it ran",
        **LASTS,
    )
    assert capture.status == 4
    assert capture.stdout == ""
    assert "dcgmi profile --pause" in capture.stderr
    assert not capture.trace.exists()


def test_one_of_two_gpus_is_refused(capturer: Capturer) -> None:
    fake = {"fail": "cuptiPmSamplingEnable:1=26", "driver_devices": 2}
    capture = capturer.run(options=FAST, fake=fake, **LASTS)
    check_rows(capture, 0)
    assert len(rows_of(capture, 0)) == capture.count("pm_sample") > 500
    assert capture.rows("capture")[0]["pm_state"] == "partial"
    assert "GPU 1: another tool" in capture.rows("capture")[0]["pm_detail"]


@pytest.mark.parametrize(
    ("metrics", "words", "hint"),
    [
        ("sm__no_such_metric.sum", "refuses sm__no_such_metric.sum", "metrics list"),
        (
            ",".join(f"sm__inst_executed_pipe_{pipe}.sum" for pipe in PIPES),
            "do not fit one pass",
            "metrics check",
        ),
    ],
)
def test_metrics_that_cannot_be_sampled(
    capturer: Capturer, metrics: str, words: str, hint: str
) -> None:
    capture = capturer.run(options=("--pm", metrics), **LASTS)
    assert capture.status == 0
    assert words in capture.stderr
    assert hint in capture.stderr


def test_a_program_that_ends_at_once(capturer: Capturer) -> None:
    capture = capturer.run(options=FAST, command=["true"])
    assert capture.status == 3  # it never used CUDA, as without samples
    check_rows(capture)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pm", "everything"), "neither a preset nor a metric"),
        (("--pm", "--pm-interval", "5s"), "not between 5us and 1s"),
        (("--pm-interval", "1ms"), "go with --pm"),
        (("--pm-required",), "go with --pm"),
    ],
)
def test_options_that_cannot_be(capturer: Capturer, options: tuple[str, ...], words: str) -> None:
    capture = capturer.run(options=options)
    assert capture.status == 2
    assert words in capture.stderr


def samplers() -> set[int]:
    """Processes that sample."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"cupti_etl.pm.sampler" in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def children(pid: int) -> set[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return set(map(int, text.split())) & samplers()


def test_a_sampler_without_a_collector_ends(capturer: Capturer, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    words, env, _, log = capturer.prepare(
        "13.5.25", FAST, launches=10, linger_ms=20000, ready=ready
    )
    with running(words, env) as process:
        wait_until(ready.exists)
        (sampler,) = children(process.pid)
        process.kill()
        wait_until(lambda: sampler not in samplers())
        assert sampled(log)[0].is_stopped
        os.killpg(process.pid, signal.SIGKILL)


def test_a_pipe_of_samples(capturer: Capturer, tmp_path: Path) -> None:
    out = tmp_path / "samples.arrows"
    words, env, trace, log = capturer.prepare("13.5.25", (*FAST, "--table", "pm_sample"), **LASTS)
    words[words.index(str(trace))] = str(out)
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = pa.ipc.open_stream(out).read_all()
    assert rows["start_ns"].to_pylist() == sampled(log)[0].starts
    assert "sm_active_pct" in rows.column_names


def test_a_sampler_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from cupti_etl.config import CaptureOptions, PmOptions
    from cupti_etl.pm.sampling import Sampling

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    sampling = Sampling(PmOptions(), CaptureOptions(tmp_path), {})
    sampling.wait_until_ready()
    sampling.drain()
    sampling.stop()
    assert sampling.facts()["pm_state"] == "failed"
    assert "Too many open files" in sampling.facts()["pm_detail"]
    sampling.close()
