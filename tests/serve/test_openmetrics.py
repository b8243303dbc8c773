"""A trace as Prometheus reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.trace import add_part, write_trace

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("prometheus_client", reason="the extra serve is not installed")

# On GPU 0 within the last ten seconds: 1 s and 2 s that overlap by half a second, and a copy of 1 s
# that began before them and of which only half a second is in them.
RUN = {
    "capture": "start_ns end_ns\n0 -",
    # The third ended before the last activity, and its memory with it.
    "process": """
        process_id pid host  rank state    end_ns
        1          77  node  3    tracing  -
        2          78  node2 -    finished 21000000000
        3          79  node  -    killed   15000000000
    """,
    # The second process calls the same GPU 5.
    "device": "process_id device_id device_uuid name\n1 0 GPU-a H200\n2 5 GPU-a H200",
    "kernel": """
        process_id device_id correlation_id start_ns    end_ns      name
        1          0         1              14000000000 15000000000 a
        1          0         2              14500000000 16500000000 b
        1          0         3              19900000000 20000000000 b
        1          0         4              20000000000 -           b
    """,
    "memcpy": """
        process_id device_id correlation_id start_ns   end_ns      copy_kind bytes
        1          0         9              9500000000 10500000000 HtoD      4096
    """,
    "api_call": """
        process_id correlation_id domain  name             return_value start_ns    end_ns
        1          1              runtime cudaLaunchKernel 0            13000000000 13500000000
        1          2              runtime cudaLaunchKernel 0            13600000000 13700000000
        1          8              runtime cudaMalloc       2            13800000000 13900000000
    """,
    "memory": """
        process_id device_id operation  memory_kind address bytes timestamp_ns
        1          0         allocation device      1       9000  13000000000
        1          0         allocation device      2       4096  13000000001
        1          0         release    device      1       9000  13000000002
        2          5         allocation device      1       100   14000000000
        2          -         allocation pinned      3       10    14000000000
        3          0         allocation device      1       7000  14000000000
    """,
    "loss": "process_id cause records is_stored\n1 ring_full 7 false\n1 killed - false",
    "pm_metric": "metric device_uuid unit\nsm_active_pct GPU-a %",
    "pm_sample": """
        device_uuid start_ns    end_ns      sm_active_pct
        GPU-a       1000000000  2000000000  99
        GPU-a       15000000000 16000000000 10
        GPU-a       16000000000 19000000000 50
    """,
}


def scraped(client: Any) -> dict[tuple[str, tuple[str, ...]], float]:
    """The samples by their names and the values of their labels, as Prometheus takes them."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    return {
        (sample.name, tuple(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_what_is_exposed(serve: Any, tmp_path: Path) -> None:
    found = scraped(serve(write_trace(tmp_path / "run", **RUN)))
    assert found == {
        ("cupti_etl_kernels_total", ("0",)): 3,
        ("cupti_etl_kernel_seconds_total", ("0",)): pytest.approx(3.1),
        ("cupti_etl_transfers_total", ("HtoD", "0", "memcpy")): 1,
        ("cupti_etl_transfer_bytes_total", ("HtoD", "0", "memcpy")): 4096,
        ("cupti_etl_transfer_seconds_total", ("HtoD", "0", "memcpy")): 1,
        ("cupti_etl_api_calls_total", ("runtime", "cudaLaunchKernel")): 2,
        ("cupti_etl_api_calls_total", ("runtime", "cudaMalloc")): 1,
        ("cupti_etl_api_seconds_total", ("runtime", "cudaLaunchKernel")): pytest.approx(0.6),
        ("cupti_etl_api_seconds_total", ("runtime", "cudaMalloc")): pytest.approx(0.1),
        ("cupti_etl_api_errors_total", ("runtime", "cudaLaunchKernel")): 0,
        ("cupti_etl_api_errors_total", ("runtime", "cudaMalloc")): 1,
        ("cupti_etl_busy_ratio", ("0",)): pytest.approx((0.5 + 2.5 + 0.1) / 10),
        ("cupti_etl_pm", ("0", "sm_active_pct", "%")): pytest.approx(40),
        ("cupti_etl_losses_total", ("ring_full",)): 1,
        ("cupti_etl_losses_total", ("killed",)): 1,
        ("cupti_etl_lost_records_total", ("ring_full",)): 7,
        ("cupti_etl_lost_records_total", ("killed",)): 0,
        ("cupti_etl_launches_total", ("runtime", "cudaLaunchKernel")): 2,
        ("cupti_etl_memory_bytes", ("0", "device")): 4096 + 100,
        ("cupti_etl_memory_bytes", ("", "pinned")): 10,
        ("cupti_etl_recording", ()): 1,
        ("cupti_etl_last_activity_timestamp_seconds", ()): 20,
        ("cupti_etl_gpu_info", ("0", "node", "H200", "GPU-a")): 1,
        ("cupti_etl_gpu_info", ("0", "node2", "H200", "GPU-a")): 1,
        ("cupti_etl_process_info", ("node2", "78", "", "finished")): 1,
        ("cupti_etl_process_info", ("node", "79", "", "killed")): 1,
        ("cupti_etl_process_info", ("node", "77", "3", "tracing")): 1,
    }


@pytest.mark.slow
def test_counters_go_on_as_the_trace_grows(serve: Any, tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", **RUN)
    client = serve(path)
    name = ("cupti_etl_kernels_total", ("0",))
    before = scraped(client)[name]
    add_part(
        path, "kernel", "process_id device_id start_ns end_ns name\n1 0 30000000000 30000000100 c"
    )
    assert scraped(client)[name] == before + 1


def test_an_empty_trace_and_hostile_names(serve: Any, tmp_path: Path) -> None:
    assert scraped(serve(write_trace(tmp_path / "empty"))) == {}
    path = write_trace(
        tmp_path / "hostile",
        api_call="domain name start_ns end_ns\nruntime 'a\"b\\c' 0 10",
    )
    assert scraped(serve(path))[("cupti_etl_api_calls_total", ("runtime", 'a"b\\c'))] == 1


def test_without_the_token_nothing_is_said(client: Any) -> None:
    assert client.get("/metrics", headers={"Authorization": ""}).status_code == 401


def test_memory_of_two_processes_on_a_device(serve: Any, tmp_path: Path) -> None:
    path = write_trace(
        tmp_path / "run",
        device="process_id device_id device_uuid\n1 0 GPU-a\n2 0 GPU-a",
        memory="""
            process_id device_id memory_kind operation  address bytes timestamp_ns
            1          0         device      allocation 16      100   1
            2          0         device      allocation 16      30    2
            1          0         device      allocation 32      7     3
        """,
    )
    assert scraped(serve(path))[("cupti_etl_memory_bytes", ("0", "device"))] == 137
