"""A trace as a monitoring system reads it: OpenMetrics, from the query ``_openmetric``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from cupti_etl.api import Trace

MEDIA_TYPE = CONTENT_TYPE_LATEST
# What OpenMetrics puts behind the names of samples.
_SUFFIXES = {"counter": "_total", "info": "_info", "gauge": ""}


class _Collected(Collector):
    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for row in self._rows:
            name = row["family"]
            if name not in families:
                families[name] = Metric(name, row["help"], row["kind"], row["unit"])
            labels = {key: value or "" for key, value in json.loads(row["labels"]).items()}
            families[name].add_sample(f"{name}{_SUFFIXES[row['kind']]}", labels, row["value"])
        yield from families.values()


def exposition(trace: Trace) -> bytes:
    """The metrics of a trace as text.

    Raises:
        TraceError: a part is damaged, or has vanished.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([dict(row) for row in trace.query("_openmetric")]))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text
