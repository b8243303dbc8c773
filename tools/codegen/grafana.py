"""A dashboard of Grafana, in the form of classic dashboards, which Grafana 11 and newer import."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_SCHEMA_VERSION = 39
_COLUMNS = 24
_HEIGHT = 8


@dataclass(frozen=True)
class Panel:
    """A panel.

    Attributes:
        title: of the panel.
        kind: of the panel, as Grafana calls it.
        targets: what it asks.
        unit: of its values, as Grafana calls it.
        width: in columns, of 24.
        transformations: of the rows, as Grafana calls them.
        units: of columns that have others.
        stacked: whether lines are areas on one another.
        description: shown beside the title.
    """

    title: str
    kind: str
    targets: list[dict[str, Any]]
    unit: str = "short"
    width: int = 12
    transformations: list[dict[str, Any]] = field(default_factory=list)
    units: Mapping[str, str] = field(default_factory=dict)
    stacked: bool = False
    description: str = ""


def dashboard(
    uid: str,
    title: str,
    panels: Iterable[Panel],
    source: dict[str, str],
    variables: list[dict[str, Any]],
    refresh: str,
    begin: str,
) -> str:
    """The text of a dashboard.

    Args:
        uid: by which Grafana knows it.
        title: of the dashboard.
        panels: from left to right and from top to bottom.
        source: the type of the data source, and the variable that chooses one.
        variables: besides that.
        refresh: how often it asks; "" for never.
        begin: of the times that it shows at first.
    """
    chosen = {"type": "datasource", "name": "source", "label": "Source", "query": source["type"]}
    laid: list[dict[str, Any]] = []
    x = y = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > _COLUMNS:
            x, y = 0, y + _HEIGHT
        laid.append(_laid(panel, number, source, x, y))
        x += panel.width
    told = {
        "uid": uid,
        "title": title,
        "tags": ["cuda", "cupti-etl"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": _SCHEMA_VERSION,
        "time": {"from": begin, "to": "now"},
        "refresh": refresh,
        "templating": {"list": [chosen, *variables]},
        "annotations": {"list": []},
        "panels": laid,
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _laid(panel: Panel, number: int, source: dict[str, str], x: int, y: int) -> dict[str, Any]:
    overrides = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "unit", "value": unit}],
        }
        for name, unit in panel.units.items()
    ]
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        defaults["custom"] = {"fillOpacity": 10, "showPoints": "never", "stacking": stacking}
    if panel.unit == "percentunit":
        defaults["min"] = 0
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": source,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": _HEIGHT},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": source, **target}
            for index, target in enumerate(panel.targets)
        ],
        "transformations": panel.transformations,
        "fieldConfig": {"defaults": defaults, "overrides": overrides},
    }
