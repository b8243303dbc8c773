"""The example of a job of many hosts on Kubernetes says what the commands in it understand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from cupti_etl.commands.capture import command
from cupti_etl.storage.bucket import Url, as_target
from cupti_etl.units import size_bytes

MANIFEST = Path(__file__).parents[2] / "docs" / "examples" / "cupti-etl-job.yml"


def understood(words: list[str]) -> dict[str, Any]:
    """The options that a command line gives a capture, and the command that it runs."""
    assert words[:2] == ["cupti-etl", "capture"]
    parsed: dict[str, Any] = command.make_context("capture", list(words[2:])).params
    return parsed


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    service, job = YAML(typ="safe").load_all(MANIFEST.read_text())
    return service, job


def options(words: list[str]) -> dict[str, str]:
    """The options of torchrun, which are all words with an equals sign."""
    return dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))


def test_pods_are_the_nodes_of_torchrun() -> None:
    service, job = documents()
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    capture = understood(container["command"])
    launcher, *words = capture["cmd"]
    assert launcher == "torchrun"
    given = options(words)
    assert spec["completionMode"] == "Indexed"
    assert {spec["completions"], spec["parallelism"]} == {int(given["nnodes"])}
    assert given["node-rank"] == "$(JOB_COMPLETION_INDEX)"
    assert int(given["nproc-per-node"]) == container["resources"]["limits"]["nvidia.com/gpu"]
    # The first pod is JOB-0 in the domain of the service, which selects the pods of the job.
    job_name, service_name = job["metadata"]["name"], service["metadata"]["name"]
    assert given["master-addr"] == f"{job_name}-0.{service_name}"
    assert pod["subdomain"] == service_name
    assert service["spec"]["selector"] == {"job-name": job_name}
    assert service["spec"]["clusterIP"] == "None"


def test_all_write_one_trace_and_the_spool_finds_room() -> None:
    _, job = documents()
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    capture = understood(container["command"])
    assert isinstance(as_target(capture["out"]), Url)
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert mount["name"] == volume["name"]
    assert str(capture["spool"]) == mount["mountPath"]
    room = size_bytes(f"{volume['emptyDir']['sizeLimit']}B")
    assert size_bytes(capture["spool_size"]) < room
    assert room < size_bytes(f"{container['resources']['requests']['ephemeral-storage']}B")
    assert not {each["name"] for each in container["env"]} & {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
    }


def test_a_manifest_with_a_fault_is_seen() -> None:
    broken = YAML(typ="safe").load_all(MANIFEST.read_text().replace("--spool-size", "--spool-sise"))
    _, job = broken
    (container,) = job["spec"]["template"]["spec"]["containers"]
    with pytest.raises(click.UsageError, match="--spool-sise"):
        understood(container["command"])
