"""The examples of a unit and of a manifest for the daemon say what it understands."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from cupti_etl.capture.daemon import environment
from cupti_etl.commands._capture_values import check_retain
from cupti_etl.commands.daemon import command
from cupti_etl.units import duration_ns

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
UNIT = EXAMPLES / "cupti-etl.service"
MANIFEST = EXAMPLES / "cupti-etl-daemon.yml"


def understood(words: list[str]) -> dict[str, Any]:
    """The options that a command line gives the daemon."""
    assert [Path(words[0]).name, words[1]] == ["cupti-etl", "daemon"]
    parsed: dict[str, Any] = command.make_context("daemon", list(words[2:])).params
    check_retain(parsed["retain"])
    return parsed


def unit(text: str) -> configparser.ConfigParser:
    """A unit, as far as its form is that of systemd.syntax(7)."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_the_unit() -> None:
    parsed = unit(UNIT.read_text())
    assert set(parsed.sections()) == {"Unit", "Service", "Install"}
    service = parsed["Service"]
    options = understood(shlex.split(service["ExecStart"]))
    # The folders that systemd makes are those in which the daemon expects to be.
    assert options["path"].parent == Path("/run", service["RuntimeDirectory"])
    assert options["out"] == Path("/var/lib", service["StateDirectory"])
    assert service["KillSignal"] == "SIGTERM"
    assert duration_ns(service["TimeoutStopSec"]) > 0


def test_a_unit_with_a_fault_is_seen() -> None:
    broken = UNIT.read_text().replace("--retain 24h", "--retian 24h")
    with pytest.raises(click.UsageError, match="--retian"):
        understood(shlex.split(unit(broken)["Service"]["ExecStart"]))


def test_the_manifest() -> None:
    daemon, pod = YAML(typ="safe").load_all(MANIFEST.read_text())
    assert (daemon["apiVersion"], daemon["kind"]) == ("apps/v1", "DaemonSet")
    template = daemon["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert daemon["spec"]["selector"]["matchLabels"].items() <= labels.items()
    spec = template["spec"]
    volumes = {each["name"]: each["hostPath"]["path"] for each in spec["volumes"]}
    (container,) = spec["containers"]
    mounts = {each["mountPath"]: volumes[each["name"]] for each in container["volumeMounts"]}
    options = understood(container["command"])
    assert {str(options["path"].parent), str(options["out"])} == set(mounts)
    # The pod has the folder of the socket, and the variables that the daemon asks for.
    (train,) = pod["spec"]["containers"]
    (mounted,) = train["volumeMounts"]
    (volume,) = pod["spec"]["volumes"]
    assert mounted["name"] == volume["name"]
    assert volume["hostPath"]["path"] == mounts[str(options["path"].parent)]
    given = {each["name"]: each["value"] for each in train["env"]}
    asked = environment(options["path"])
    assert given.keys() == asked.keys()
    for name, value in asked.items():
        inside = Path(mounted["mountPath"], Path(value).name)
        assert given[name] == str(inside), name


def test_what_the_manifest_copies_is_the_library() -> None:
    """Its name is that which the pod has."""
    daemon, _ = YAML(typ="safe").load_all(MANIFEST.read_text())
    (copy,) = daemon["spec"]["template"]["spec"]["initContainers"]
    (name,) = re.findall(r"s/\^(\w+)=//p", copy["command"][-1])
    assert name in environment(Path("/run/cupti-etl/socket"))
