"""A served trace as a real Prometheus scrapes it, and the names that the page about it lists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from serve.test_dashboards import targets
from serve.test_openmetrics import RUN
from serve.test_server import SERVE, needs_the_extra
from support.trace import add_part, write_trace

from tools.codegen.dashboards import metric_names

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "prometheus.md"
CONFIGURATION = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: cupti-etl
    authorization: {{credentials: "{token}"}}
    static_configs: [{{targets: ["{target}"]}}]
"""


def test_the_page_lists_all_metrics() -> None:
    names = metric_names()
    assert len(names) >= 17
    listed = {
        name
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `cupti_etl")
        for name in re.findall(r"`(cupti_etl_\w+)`", line)
    }
    assert listed == names


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a Prometheus that scrapes a trace, and the trace."""
    needs_the_extra()
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed (Debian: apt install prometheus)")
    trace = write_trace(tmp_path / "run", **RUN)
    processes = [subprocess.Popen([*SERVE, str(trace)], stdout=subprocess.PIPE, text=True)]
    try:
        assert processes[0].stdout is not None
        address = urllib.parse.urlsplit(processes[0].stdout.readline())
        token = address.query.removeprefix("token=").strip()
        file = tmp_path / "prometheus.yml"
        file.write_text(CONFIGURATION.format(token=token, target=address.netloc))
        processes.append(
            subprocess.Popen(
                [
                    program,
                    f"--config.file={file}",
                    f"--storage.tsdb.path={tmp_path / 'data'}",
                    "--web.listen-address=127.0.0.1:0",
                    "--log.level=info",
                ],
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        yield listening(processes[1]), trace
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def listening(prometheus: subprocess.Popen[str]) -> str:
    """The address that it says it has."""
    assert prometheus.stderr is not None
    said = []
    for line in prometheus.stderr:
        said.append(line)
        found = re.search(r'msg="Listening on" address=(127\.0\.0\.1:\d+)', line)
        if found:
            return f"http://{found[1]}"
    raise AssertionError("".join(said))


def asked(address: str, path: str, **words: str) -> Any:
    """The answer of Prometheus's API, once it has one; pytest's time limit ends it."""
    while True:
        try:
            url = f"{address}/api/v1/{path}?{urllib.parse.urlencode(words)}"
            with urllib.request.urlopen(url) as answer:
                data = json.load(answer)["data"]
        except URLError:  # it does not answer yet
            data = None
        if data and (data.get("result", True) if isinstance(data, dict) else data):
            return data
        time.sleep(0.05)


def value(address: str, query: str) -> float:
    (found,) = asked(address, "query", query=query)["result"]
    return float(found["value"][1])


def test_prometheus_scrapes_it(prometheus: tuple[str, Path]) -> None:
    address, trace = prometheus
    assert value(address, "up == 1") == 1
    assert value(address, "cupti_etl_kernels_total") == 3
    assert value(address, 'cupti_etl_transfer_bytes_total{direction="HtoD"}') == 4096
    assert value(address, 'cupti_etl_api_calls_total{function="cudaMalloc"}') == 1
    assert value(address, 'cupti_etl_process_info{pid="77"}') == 1
    assert value(address, "cupti_etl_memory_bytes * on(gpu) group_left(uuid)"
                 ' cupti_etl_gpu_info{host="node"}') == 4196  # fmt: skip
    # What the dashboard asks is understood, and what is no rate has an answer.
    asked_all = [
        each["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
        for each in targets("prometheus")
    ]
    for expression in asked_all:
        url = f"{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with urllib.request.urlopen(url) as answer:
            found = json.load(answer)
        assert found["status"] == "success"
        # Of PM metrics, this trace has none that is no share.
        assert found["data"]["result"] or "rate(" in expression or "unit!=" in expression
    # What it was told of types and units, of which it keeps no other.
    told = asked(address, "metadata")
    assert told["cupti_etl_kernels"][0]["type"] == "counter"
    assert told["cupti_etl_memory_bytes"][0]["unit"] == "bytes"
    (target,) = asked(address, "targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    add_part(
        trace, "kernel", "process_id device_id start_ns end_ns name\n1 0 30000000000 30000000100 c"
    )
    assert value(address, "cupti_etl_kernels_total == 4") == 4
    # A counter that has grown has a rate.
    assert value(address, "increase(cupti_etl_kernels_total[1m]) > 0") > 0
