"""The dashboards for Grafana: their form, and that what they ask for is there."""

from __future__ import annotations

import enum
import json
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from serve.test_openmetrics import RUN
from support.trace import write_trace

from tools.codegen import dashboards

FOLDER = Path(__file__).parents[2] / "docs" / "dashboards"
NAMES = ("prometheus", "infinity")


def dashboard(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return read


def targets(name: str) -> Iterator[dict[str, Any]]:
    for panel in dashboard(name)["panels"]:
        yield from panel["targets"]


def modelled(data: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A dashboard as an object of Grafana's published models, and what those know of it."""
    sdk = pytest.importorskip(
        "grafana_foundation_sdk.models.dashboard", reason="grafana-foundation-sdk is not installed"
    )
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins

    register_default_plugins()
    found = sdk.Dashboard.from_json(data)
    return found, json.loads(JSONEncoder().encode(found))


def faults(ours: Any, known: Any, where: str = "dashboard") -> Iterator[str]:
    """What is in our dashboard and not in the model's, or is another there."""
    if isinstance(ours, dict) and isinstance(known, dict):
        for key, value in ours.items():
            if key not in known:
                yield f"{where}.{key} is not known"
            else:
                yield from faults(value, known[key], f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(known, list) and len(ours) == len(known):
        for number, pair in enumerate(zip(ours, known, strict=True)):
            yield from faults(*pair, f"{where}[{number}]")
    elif ours != known:
        yield f"{where} is {ours!r}, and the model says {known!r}"


def mistyped(value: Any, hint: Any, where: str = "dashboard") -> Iterator[str]:
    """What in an object of the models is not of the type that they declare."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        found = [list(mistyped(value, each, where)) for each in inner]
        if all(found):
            # Of the one that it is most like, whose faults lie deepest.
            yield from max(found, key=lambda said: said[0].partition(":")[0].count("."))
    elif origin is typing.Literal:
        if value not in inner:
            yield f"{where}: {value!r} is none of {inner}"
    elif origin is list and isinstance(value, list):
        for number, each in enumerate(value):
            yield from mistyped(each, inner[0], f"{where}[{number}]")
    elif origin is dict and isinstance(value, dict):
        for key, each in value.items():
            yield from mistyped(each, inner[1], f"{where}[{key!r}]")
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value not in {each.value for each in hint}:
            yield f"{where}: {value!r} is none of {[each.value for each in hint]}"
    elif hint is float:
        if not isinstance(value, int | float):
            yield f"{where}: {value!r} is no number"
    elif isinstance(value, dict) and hasattr(hint, "from_json"):
        # The models leave some as they were read.
        read = hint.from_json(value)
        yield from (f"{where}.{name} is not known" for name in value.keys() - read.to_json().keys())
        yield from mistyped(read, hint, where)
    elif type(value).__module__.startswith("grafana_foundation_sdk.models"):
        if not isinstance(value, hint):
            yield f"{where}: {value!r} is no {hint.__name__}"
        for name, each in typing.get_type_hints(type(value)).items():
            yield from mistyped(getattr(value, name), each, f"{where}.{name}")
    elif isinstance(value, bool) and hint not in (bool, object):
        yield f"{where}: {value!r} is no {hint.__name__}"
    elif not isinstance(value, origin or hint):
        yield f"{where}: {value!r} is no {hint}"


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_dashboard_as_grafana_publishes_the_form(name: str) -> None:
    ours = dashboard(name)
    found, known = modelled(ours)
    assert list(faults(ours, known)) == []
    assert list(mistyped(found, type(found))) == []


def test_what_is_no_dashboard_is_seen() -> None:
    ours = dashboard("prometheus")
    ours["titel"] = "x"
    ours["panels"][0]["fieldConfig"]["defaults"]["units"] = "s"
    ours["panels"][1]["targets"][0]["expression"] = "x"
    _, known = modelled(ours)
    assert [each.partition(" ")[0] for each in faults(ours, known)] == [
        "dashboard.panels[0].fieldConfig.defaults.units",
        "dashboard.panels[1].targets[0].expression",
        "dashboard.titel",
    ]
    ours = dashboard("prometheus")
    ours["panels"][0]["gridPos"]["x"] = "left"
    ours["graphTooltip"] = 7
    ours["title"] = 5
    found, _ = modelled(ours)
    assert len(list(mistyped(found, type(found)))) == 3


@pytest.mark.parametrize("name", NAMES)
def test_panels_do_not_overlap(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard(name)["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken
        taken |= cells


def test_every_metric_is_shown_and_there_is_no_other() -> None:
    import re

    shown = {
        each
        for target in targets("prometheus")
        for each in re.findall(r"cupti_etl_\w+", target["expr"])
    }
    assert shown == dashboards.metric_names()


def test_a_metric_or_a_query_that_is_not_there_is_an_error() -> None:
    from cupti_etl.errors import UsageError

    with pytest.raises(ValueError, match="no cupti_etl_kernel_total"):
        dashboards._asked("rate(cupti_etl_kernel_total)", "", "timeseries")
    with pytest.raises(UsageError, match="kernel_sumary"):
        dashboards._rows("Kernels", "kernel_sumary")


@pytest.mark.slow
@pytest.mark.parametrize("target", list(targets("infinity")), ids=lambda each: each["url"])
def test_what_infinity_asks_is_answered(serve: Any, tmp_path: Path, target: dict[str, Any]) -> None:
    pytest.importorskip("starlette", reason="the extra serve is not installed")
    client = serve(write_trace(tmp_path / "run", **RUN))
    options = target["url_options"]
    params = {
        each["key"]: each["value"].replace("${__from}", "0").replace("${__to}", "9000000000000")
        for each in options["params"]
    }
    answers = {}
    for form in ("json", "arrow"):
        answers[form] = client.request(
            options["method"],
            target["url"].removeprefix("${server}"),
            params={**params, "format": form},
            content=options.get("data"),
        )
        assert answers[form].status_code == 200, answers[form].text
    assert params["format"] == "json"
    with pa.ipc.open_stream(answers["arrow"].content) as stream:
        columns = {each.name: each.type for each in stream.schema}
    assert isinstance(answers["json"].json(), list)
    for each in target["columns"]:
        kind = columns[each["selector"]]
        is_text = pa.types.is_string(kind) or pa.types.is_boolean(kind)
        assert is_text == (each["type"] == "string"), each
