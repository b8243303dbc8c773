"""Readings of traces that grow: what is new is added once, and the sums are those of the whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.growing import S, by_name, end, kernels, running
from support.trace import add_part, write_manifest, write_trace

import cupti_etl
from cupti_etl.errors import TraceError
from cupti_etl.queries import keeping
from cupti_etl.top.growing import EVENTS, Growing, Part, parts_of
from cupti_etl.top.reader import Reader
from cupti_etl.top.reading import FINISHED, RECORDING, WAITING

pytestmark = pytest.mark.slow


def test_what_is_new_is_now(tmp_path: Path) -> None:
    path = running(tmp_path / "run", kernel=kernels((0, 0, 500, "_Za"), (0, 500, 1000, "_Zb")))
    reader = Reader(path)
    first = reader.read()
    assert (first.state, first.command, first.age_ns) == (RECORDING, "train it", S)
    assert first.now_ns == S
    add_part(path, "kernel", kernels((0, 1000, 1250, "_Za"), (0, 2000, 3000, "_Za")))
    second = reader.read()
    a, b = by_name(second)["a"], by_name(second)["b"]
    assert (second.now_ns, second.age_ns) == (2 * S, 3 * S)
    assert (a["calls"], a["total_ns"], a["mean_ns"]) == (3, 1_750_000_000, 1_750_000_000 / 3)
    assert (a["now_calls"], a["now_total_ns"], a["now_pct"]) == (2, 1_250_000_000, 100)
    assert (b["calls"], b["now_calls"], b["now_mean_ns"]) == (1, 0, None)
    assert a["percent"] == pytest.approx(100 * 1.75 / 2.25)
    (gpu, idle) = second.gpus
    # Busy is summed up to half a second ago: from 500 to 2500 ms 500, 250 and 500.
    assert gpu["now_busy_pct"] == pytest.approx(100 * 1250 / 2000)
    assert gpu["busy_pct"] == pytest.approx(100 * 1750 / 2500)
    assert (gpu["kernels"], gpu["kernels_per_s"]) == (4, 1)
    assert (idle["kernels"], idle["now_busy_pct"], idle["busy_pct"]) == (0, 0, None)


def test_a_long_kernel_beside_short_ones(tmp_path: Path) -> None:
    """Work that overlaps work of the reading before counts once, and none is left out."""
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    reader = Reader(path)
    reader.read()
    add_part(path, "kernel", kernels((0, 600, 1400, "_Zb"), (0, 1900, 2000, "_Za")))
    assert reader.read().gpus[0]["busy_pct"] == pytest.approx(100 * 1400 / 1500)
    add_part(path, "kernel", kernels((0, 1300, 1600, "_Zb"), (0, 2900, 3000, "_Za")))
    # Until 2500 ms: 1600, of which what came late is 200, less the 100 before the first sum's end.
    assert reader.read().gpus[0]["busy_pct"] == pytest.approx(100 * 1600 / 2500)


def test_a_clock_goes_on_where_nothing_runs(tmp_path: Path) -> None:
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    reader = Reader(path)
    reader.read()
    add_part(path, "clock", f"realtime_ns\n{5 * S}")
    reading = reader.read()
    assert (reading.now_ns, reading.gpus[0]["kernels_per_s"]) == (4 * S, 0)
    assert reading.gpus[0]["now_busy_pct"] == pytest.approx(100 * 0.5 / 4)
    assert by_name(reading)["a"]["now_calls"] == 0


def test_the_first_reading_of_an_old_capture(tmp_path: Path) -> None:
    """Now is what the last ten seconds had."""
    path = running(tmp_path / "run", kernel=kernels((0, 0, 9000, "_Za"), (0, 10000, 21000, "_Zb")))
    reading = Reader(path).read()
    assert reading.now_ns == 10 * S
    assert [by_name(reading)[name]["now_calls"] for name in "ab"] == [0, 1]
    assert reading.gpus[0]["now_busy_pct"] == pytest.approx(100)


def test_calls_copies_and_memory(tmp_path: Path) -> None:
    path = running(
        tmp_path / "run",
        kernel=kernels((0, 0, 1000, "_Za")),
        memory="process_id device_id memory_kind operation address bytes timestamp_ns\n"
        "1 0 device allocation 16 100 1\n1 0 device allocation 32 50 2\n"
        "1 0 pinned allocation 48 7 2",
    )
    reader = Reader(path)
    assert reader.read().gpus[0]["memory_bytes"] == 150
    add_part(
        path,
        "api_call",
        "process_id domain name start_ns end_ns return_value\n"
        "1 runtime cudaLaunchKernel 0 10 0\n1 driver cuLaunchKernel 20 40 0\n"
        "1 runtime cudaMemcpy 50 55 2\n1 runtime cudaMemcpy 60 - -",
    )
    add_part(
        path,
        "memcpy",
        f"process_id device_id start_ns end_ns copy_kind bytes\n1 0 1 {3 * S} HtoD 4096",
    )
    add_part(
        path,
        "memory",
        "process_id device_id memory_kind operation address bytes timestamp_ns\n"
        "1 0 device release 16 100 30\n1 1 device allocation 64 5 40",
    )
    reading = reader.read()
    assert dict(reading.calls) == {
        "calls": 3,
        "launches": 2,
        "total_ns": 35,
        "errors": 1,
        "calls_per_s": 1.5,
        "launches_per_s": 1,
        "now_ns": 35,
    }
    (copy,) = reading.copies
    assert (copy["direction"], copy["bytes_per_s"], copy["copies"]) == ("HtoD", 2048, 1)
    assert [gpu["memory_bytes"] for gpu in reading.gpus] == [50, 5]
    add_part(
        path,
        "memory",
        "process_id device_id memory_kind operation address bytes timestamp_ns\n"
        "1 0 device release 32 - 60",
    )
    assert [gpu["memory_bytes"] for gpu in reader.read().gpus] == [0, 5]


def test_launches_where_all_calls_are_recorded(tmp_path: Path) -> None:
    """There, the driver's calls inside the runtime's can be, too."""
    path = running(
        tmp_path / "run",
        capture="start_ns end_ns api_level\n0 - all",
        api_call="process_id domain name correlation_id start_ns end_ns\n"
        "1 runtime cudaLaunchKernel 1 0 10\n1 driver cuLaunchKernel 1 2 8\n"
        "1 runtime cudaLaunchKernel 2 10 20\n1 driver cuKernelGetName 2 12 13\n"
        "1 driver cuLaunchKernelEx 3 20 30\n2 driver cuLaunchKernel 1 20 30",
    )
    assert Reader(path).read().calls["launches"] == 4


def test_metrics(tmp_path: Path) -> None:
    path = running(
        tmp_path / "run",
        kernel=kernels((0, 0, 1000, "_Za")),
        pm_metric="metric device_uuid unit\nsm_active_pct GPU-a %",
        pm_sample=f"device_uuid start_ns end_ns sm_active_pct\nGPU-a 0 {S} 20",
    )
    reader = Reader(path)

    def active() -> Any:
        return reader.read().gpus[0]["metrics"]["sm_active_pct"]

    assert active() == {"value": 20, "unit": "%"}
    add_part(
        path,
        "pm_sample",
        "device_uuid start_ns end_ns sm_active_pct\n"
        f"GPU-a {S} {2 * S} 60\nGPU-a {2 * S} {5 * S} 80",
    )
    assert active() == {"value": 75, "unit": "%"}
    add_part(path, "kernel", kernels((0, 5000, 6000, "_Za")))
    assert active()["value"] == 75  # the last that is known


def test_losses(tmp_path: Path) -> None:
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    reader = Reader(path)
    assert list(reader.read().losses) == []
    add_part(path, "loss", "process_id cause records\n1 ring_full 12\n1 killed -")
    found = {row["cause"]: row["lost"] for row in reader.read().losses}
    assert found == {"ring_full": 12, "killed": None}


def test_a_process_that_was_killed(tmp_path: Path) -> None:
    path = running(tmp_path / "run", process="process_id pid state\n1 77 killed")
    assert [row["cause"] for row in Reader(path).read().losses] == ["killed"]


def test_each_part_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[list[str]] = []
    show = Growing.show

    def note(self: Growing, parts: Sequence[Part] | None) -> None:
        shown.append([f"{table}/{name}" for table, name, *_ in parts or ()])
        show(self, parts)

    monkeypatch.setattr(Growing, "show", note)
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    reader = Reader(path)
    reader.read()
    assert [len(parts) for parts in shown] == [len(EVENTS)]
    reader.read()
    assert len(shown) == 1  # nothing is new
    add_part(path, "kernel", kernels((0, 1000, 2000, "_Za")))
    reader.read()
    assert shown[1] == ["kernel/part-000001.parquet"]


def random_rows(random_: random.Random, first_ms: int, count: int) -> list[tuple[Any, ...]]:
    """Kernels of both GPUs; some end a little before the first time."""
    rows = []
    for _ in range(count):
        start = first_ms + random_.randrange(-300, 1000)
        rows.append((random_.randrange(2), start, start + random_.randrange(1, 200), "_Za"))
    return rows


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_the_sums_are_those_of_the_whole(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    path = running(tmp_path / "run", kernel=kernels(*random_rows(random_, 5000, 30)))
    reader = Reader(path)
    for turn in range(1, 5):
        reading = reader.read()
        with cupti_etl.open(path) as trace:
            until = (reading.at_ns or 0) - S // 2
            busy = {row["gpu"]: row["busy_ns"] for row in trace.query("_busy_between", to_ns=until)}
            first = {
                row["gpu"]: row["first_ns"]
                for row in trace.sql(
                    "SELECT gpu, min(start_ns) AS first_ns FROM gpu_interval GROUP BY 1"
                )
            }
            (whole,) = trace.query("kernel_summary")
        shares = {gpu: 100 * busy[gpu] / (until - first[gpu]) for gpu in busy}
        assert {gpu["gpu"]: gpu["busy_pct"] for gpu in reading.gpus} == pytest.approx(shares)
        (kernel,) = reading.kernels
        assert (kernel["calls"], kernel["total_ns"]) == (whole["calls"], whole["total_ns"])
        add_part(path, "kernel", kernels(*random_rows(random_, 5000 + turn * 1000, 30)))


def test_a_capture_that_ends(tmp_path: Path) -> None:
    """Then the whole is read, whatever was added up before, and parts were merged."""
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    add_part(path, "kernel", kernels((0, 4000, 5000, "_Zb"), (0, 100, 200, "_Zb")))
    reader = Reader(path)
    assert reader.read().state == RECORDING
    shutil.rmtree(path / "kernel")
    rows = kernels((0, 0, 1000, "_Za"), (0, 4000, 5000, "_Zb"), (0, 100, 200, "_Zb"))
    add_part(path, "kernel", rows)
    assert by_name(reader.read())["b"]["calls"] == 2  # merged, and not over yet
    end(path, 6 * S)
    reading = reader.read()
    assert (reading.state, reading.age_ns, reading.now_ns) == (FINISHED, 6 * S, None)
    assert by_name(reading)["b"]["now_pct"] is None
    with cupti_etl.open(path) as trace:
        (busy,) = trace.query("gpu_busy")
    assert reading.gpus[0]["busy_pct"] == busy["busy_pct"]


def test_nothing_is_kept_in_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed here knows no categories, and would take the place of what does."""
    monkeypatch.setattr(keeping, "KEPT_BYTES", 0)
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    end(path, 2 * S)
    write_manifest(path)
    with cupti_etl.open(path) as trace:
        assert trace.query("_busy_interval").count() == 3
    before = sorted((path / "derived").iterdir())
    assert before
    assert Reader(path).read().state == FINISHED
    assert sorted((path / "derived").iterdir()) == before


def test_an_empty_trace(tmp_path: Path) -> None:
    reading = Reader(write_trace(tmp_path / "empty")).read()
    assert (reading.state, reading.gpus, reading.kernels, reading.age_ns) == (
        FINISHED,
        [],
        [],
        None,
    )


def test_gpus_that_nobody_described(tmp_path: Path) -> None:
    path = running(tmp_path / "run", device="", kernel=kernels((0, 0, 1000, "_Za")))
    (gpu,) = Reader(path).read().gpus
    assert gpu["gpu"] < 0
    assert (gpu["device_name"], gpu["kernels"], gpu["busy_pct"]) == (None, 1, 100)


def test_a_gpu_that_gets_another_number(tmp_path: Path) -> None:
    path = running(
        tmp_path / "run",
        device="process_id device_id device_uuid name\n1 0 GPU-b H200",
        kernel=kernels((0, 0, 1000, "_Za")),
    )
    reader = Reader(path)
    assert [gpu["gpu"] for gpu in reader.read().gpus] == [0]
    # A process whose ordinal 0 is another GPU, of a smaller UUID.
    add_part(path, "device", "process_id device_id device_uuid name\n2 0 GPU-a A100")
    add_part(path, "kernel", kernels((0, 1000, 3000, "_Za")))
    add_part(path, "kernel", kernels((0, 1000, 2000, "_Za")).replace("\n1 ", "\n2 "))
    found = [(gpu["gpu"], gpu["device_name"], gpu["kernels"]) for gpu in reader.read().gpus]
    assert found == [(0, "A100", 1), (1, "H200", 2)]


def test_what_is_awaited(tmp_path: Path) -> None:
    path = tmp_path / "run"
    reader = Reader(path, is_awaited=True)
    assert reader.read().state == WAITING
    path.mkdir()
    assert reader.read().state == WAITING
    running(path)
    assert reader.read().state == RECORDING


def test_a_trace_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    reader = Reader(path)
    reader.read()
    shutil.rmtree(path)
    with pytest.raises(TraceError, match="there is no trace"):
        reader.read()
    running(path, kernel=kernels((0, 0, 3000, "_Zb")))
    assert by_name(reader.read()).keys() == {"b"}


def test_a_damaged_part(tmp_path: Path) -> None:
    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    reader = Reader(path)
    reader.read()
    bad = path / "kernel" / "part-000001.parquet"
    bad.write_bytes(b"no Parquet at all")
    with pytest.raises(TraceError, match=r"part-000001\.parquet"):
        reader.read()
    bad.unlink()
    assert by_name(reader.read())["a"]["calls"] == 1


def test_a_self_contained_file(tmp_path: Path) -> None:
    from cupti_etl.render.duckdb_file import export_duckdb

    path = running(tmp_path / "run", kernel=kernels((0, 0, 1000, "_Za")))
    end(path, 2 * S)
    with cupti_etl.open(path) as trace:
        export_duckdb(trace, tmp_path / "run.duckdb")
    reading = Reader(tmp_path / "run.duckdb").read()
    assert (reading.state, by_name(reading)["a"]["total_ns"]) == (FINISHED, S)


def test_parts_that_vanish_while_they_are_listed(
    tmp_path: Path,
) -> None:
    path = running(tmp_path / "run")
    before = len(parts_of(path))
    gone = path / "kernel" / "part-000001.parquet"
    gone.symlink_to(tmp_path / "nowhere")
    assert len(parts_of(path)) == before
