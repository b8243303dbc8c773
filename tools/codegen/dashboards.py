"""Dashboards of Grafana: of the metrics for Prometheus, of a served trace for the Infinity source.

Names of metrics, queries and columns, and units of columns, come from the library, so what it does
not have is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cupti_etl.queries.catalog import library
from cupti_etl.queries.fields import Field
from tools.codegen.grafana import Panel, dashboard

# What OpenMetrics puts behind the names of samples, as in cupti_etl/serve/openmetrics.py.
_SUFFIXES = {"counter": "_total", "info": "_info", "gauge": ""}
# Grafana's names of our units.
_UNITS = {"ns": "ns", "bytes": "bytes", "%": "percent", "gigabytes/s": "GBs"}
_INFINITY = "yesoreyeram-infinity-datasource"
# What `cupti-etl serve` prints by default, without its token.
_SERVER = "http://127.0.0.1:8756"


def metric_names() -> set[str]:
    """The names of all samples that ``/metrics`` can have, from the query ``_openmetric``."""
    sql = re.sub(r" AS (family|kind)", "", library()["_openmetric"].sql)
    found = re.findall(r"'(cupti_etl_\w+)',\s*'(\w+)'", sql)
    return {name + _SUFFIXES[kind] for name, kind in found}


# Of Prometheus: title, kind of panel, expression, name of a line, unit, and what else is told.
_GPU = "GPU {{gpu}}"
_COPIES = "GPU {{gpu}} {{kind}} {{direction}}"
_CALL = "{{function}}"
_METRICS: tuple[tuple[str, str, str, str, str, dict[str, Any]], ...] = (
    ("GPU busy", "stat", "cupti_etl_busy_ratio", _GPU, "percentunit", {"width": 6}),
    ("Recording", "stat", "cupti_etl_recording", "{{instance}}", "bool_on_off", {"width": 6}),
    (
        "Since the last activity",
        "stat",
        "time() - cupti_etl_last_activity_timestamp_seconds",
        "{{instance}}",
        "s",
        {
            "width": 6,
            "description": "Grows while nothing runs, and between parts that a capture writes.",
        },
    ),
    ("Records lost", "stat", "sum(cupti_etl_lost_records_total)", "", "short", {"width": 6}),
    ("Busy", "timeseries", "cupti_etl_busy_ratio", _GPU, "percentunit", {}),
    ("Kernels", "timeseries", "rate(cupti_etl_kernels_total)", _GPU, "cps", {}),
    (
        "Mean duration of kernels",
        "timeseries",
        "rate(cupti_etl_kernel_seconds_total) / rate(cupti_etl_kernels_total)",
        _GPU,
        "s",
        {},
    ),
    (
        "Launches",
        "timeseries",
        "sum by (function) (rate(cupti_etl_launches_total))",
        _CALL,
        "cps",
        {},
    ),
    (
        "Bytes copied and set",
        "timeseries",
        "rate(cupti_etl_transfer_bytes_total)",
        _COPIES,
        "Bps",
        {},
    ),
    ("Copies and memsets", "timeseries", "rate(cupti_etl_transfers_total)", _COPIES, "cps", {}),
    (
        "Time in copies and memsets",
        "timeseries",
        "rate(cupti_etl_transfer_seconds_total)",
        _COPIES,
        "percentunit",
        {"description": "Seconds of a second; more than 100 % where they overlap."},
    ),
    (
        "Memory in use",
        "timeseries",
        "cupti_etl_memory_bytes",
        "GPU {{gpu}} {{kind}}",
        "bytes",
        {"stacked": True, "description": "Of captures with --kinds default,memory."},
    ),
    (
        "CUDA calls with the most time",
        "timeseries",
        "topk(10, sum by (api, function) (rate(cupti_etl_api_seconds_total)))",
        _CALL,
        "percentunit",
        {"description": "Seconds of a second, summed over threads."},
    ),
    (
        "Most CUDA calls",
        "timeseries",
        "topk(10, sum by (api, function) (rate(cupti_etl_api_calls_total)))",
        _CALL,
        "cps",
        {},
    ),
    (
        "CUDA calls that failed",
        "timeseries",
        "sum by (api, function) (rate(cupti_etl_api_errors_total)) > 0",
        _CALL,
        "cps",
        {},
    ),
    (
        "PM metrics, shares",
        "timeseries",
        'cupti_etl_pm{unit="%"}',
        "GPU {{gpu}} {{metric}}",
        "percent",
        {"description": "Of captures with --pm."},
    ),
    (
        "PM metrics, others",
        "timeseries",
        'cupti_etl_pm{unit!="%"}',
        "GPU {{gpu}} {{metric}} ({{unit}})",
        "short",
        {},
    ),
    (
        "Losses",
        "timeseries",
        "sum by (cause) (cupti_etl_losses_total)",
        "{{cause}}",
        "short",
        {"description": "How often records were lost; of some, the number is not known."},
    ),
    ("GPUs", "table", "cupti_etl_gpu_info", "", "short", {}),
    ("Processes", "table", "cupti_etl_process_info", "", "short", {}),
)


def prometheus_json() -> str:
    """The dashboard of ``/metrics``."""
    panels = [
        Panel(title, kind, [_asked(expression, legend, kind)], unit, **others)
        for title, kind, expression, legend, unit, others in _METRICS
    ]
    source = {"type": "prometheus", "uid": "${source}"}
    instances = {
        "type": "query",
        "name": "instance",
        "label": "Capture",
        "datasource": source,
        "query": f"label_values({_known('cupti_etl_recording')}, instance)",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }
    return dashboard(
        "cupti-etl-metrics", "cupti-etl: captures", panels, source, [instances], "10s", "now-30m"
    )


_TIME = "timestamp_epoch"  # in milliseconds
_EXTENT = """\
SELECT min(start_ns) // 1000000 AS begins, max(end_ns) // 1000000 AS ends FROM gpu_interval"""
_BUSY = """\
SELECT start_ns // 1000000 AS time, concat('GPU ', gpu) AS gpu, busy_pct
FROM utilization_timeline()"""
_MEMORY = """\
SELECT timestamp_ns // 1000000 AS time, concat('device ', device_id, ' ', memory_kind) AS kind,
       in_use_bytes
FROM memory_timeline"""


def infinity_json() -> str:
    """The dashboard of a served trace."""
    panels = [
        Panel(
            "When",
            "table",
            [_statement(_EXTENT, {"begins": _TIME, "ends": _TIME}, is_of_range=False)],
            width=8,
            description="The others are about the time range of the dashboard: choose this one.",
        ),
        _rows("GPUs", "gpu_busy", width=16),
        _lines("Busy", _BUSY, {"time": _TIME, "gpu": "string", "busy_pct": "number"}, "percent"),
        _findings(),
        _rows("Kernels", "kernel_summary"),
        _rows("CUDA calls", "api_summary"),
        _rows("Why GPUs were idle", "idle_summary"),
        _rows("Copies", "memcpy_summary"),
        _lines(
            "Memory in use",
            _MEMORY,
            {"time": _TIME, "kind": "string", "in_use_bytes": "number"},
            "bytes",
        ),
        _rows("Steps", "step_summary"),
        _rows("Is the trace complete?", "capture_health", is_whole=True),
    ]
    server = {
        "type": "textbox",
        "name": "server",
        "label": "Server",
        "query": _SERVER,
        "current": {"selected": True, "text": _SERVER, "value": _SERVER},
        "options": [{"selected": True, "text": _SERVER, "value": _SERVER}],
    }
    source = {"type": _INFINITY, "uid": "${source}"}
    return dashboard(
        "cupti-etl-trace", "cupti-etl: a trace", panels, source, [server], "", "now-1h"
    )


def _known(name: str) -> str:
    if name not in metric_names():
        raise ValueError(f"/metrics has no {name}")
    return name


def _asked(expression: str, legend: str, kind: str) -> dict[str, Any]:
    """What Prometheus is asked, of the chosen captures alone."""

    def chosen(found: re.Match[str]) -> str:
        others = f"{found[2]}, " if found[2] else ""
        return f'{_known(found[1])}{{{others}instance=~"$instance"}}'

    expression = re.sub(r"(cupti_etl_\w+)(?:\{([^}]*)\})?", chosen, expression)
    expression = re.sub(r"rate\(([^()]+)\)", r"rate(\1[$__rate_interval])", expression)
    if kind == "table":
        return {"expr": expression, "format": "table", "instant": True, "range": False}
    return {"expr": expression, "legendFormat": legend, "range": True}


def _lines(title: str, sql: str, columns: Mapping[str, str], unit: str) -> Panel:
    """Lines over time; the second column says which."""
    _, name, _ = columns
    apart = {"id": "partitionByValues", "options": {"fields": [name]}}
    return Panel(title, "timeseries", [_statement(sql, columns)], unit, 24, [apart])


def _rows(title: str, name: str, width: int = 12, is_whole: bool = False) -> Panel:
    """A table of the columns of a query that answer its question."""
    query = library()[name]
    names = list(query.first)
    if query.label and query.label.column not in names:
        names.append(query.label.column)
    by_name = {each.name: each for each in query.columns}
    columns = [by_name[each] for each in names]
    target = _target(
        f"/arrow/{name}", {each.name: _type(each) for each in columns}, not is_whole, limit=100
    )
    units = {each.name: _UNITS[each.unit] for each in columns if each.unit in _UNITS}
    return Panel(title, "table", [target], width=width, units=units, description=query.doc)


def _findings() -> Panel:
    columns = {
        "saved_ns": "number",
        "percent": "number",
        "finding": "string",
        "advice": "string",
        "query": "string",
    }
    return Panel(
        "What could be saved",
        "table",
        [_target("/findings", columns, True)],
        width=24,
        units={"saved_ns": "ns", "percent": "percent"},
    )


def _type(column: Field) -> str:
    return "string" if column.type in ("VARCHAR", "BOOLEAN") else "number"


def _target(
    url: str, columns: Mapping[str, str], is_of_range: bool, statement: str = "", limit: int = 0
) -> dict[str, Any]:
    """What Infinity asks for; the address of the server is a variable of the dashboard."""
    params = {"format": "json"}
    if is_of_range:
        # Grafana's are milliseconds.
        params |= {"from": "${__from}000000", "to": "${__to}000000"}
    if limit:
        params["limit"] = str(limit)
    options: dict[str, Any] = {
        "method": "POST" if statement else "GET",
        "params": [{"key": key, "value": value} for key, value in params.items()],
    }
    if statement:
        options |= {"body_type": "raw", "body_content_type": "text/plain", "data": statement}
    return {
        "type": "json",
        "source": "url",
        "format": "table",
        "parser": "backend",
        "url": f"${{server}}{url}",
        "url_options": options,
        "root_selector": "",
        "columns": [
            {"selector": name, "text": name, "type": kind} for name, kind in columns.items()
        ],
        "filters": [],
    }


def _statement(sql: str, columns: Mapping[str, str], is_of_range: bool = True) -> dict[str, Any]:
    return _target("/sql", columns, is_of_range, sql)
