"""Which kinds a capture records: presets, names, and those that cannot be."""

from __future__ import annotations

import pytest
from support.captures import Capturer
from support.fakes import CUPTI_13

KINDS = {"memory": 49, "synchronization": 38, "stream": 37, "overhead": 17, "kernel": 10}


def test_full_preset(capturer: Capturer) -> None:
    capture = capturer.run(
        CUPTI_13, ["--kinds", "full"], launches=200, malloc_every=10, sync_every=20
    )
    made = capture.log[0].made
    for table, kind in KINDS.items():
        assert capture.count(table) == made[kind] > 0, table
    capture.check_sums()
    memory = capture.rows("memory")
    assert {row["source"] for row in memory} == {"libfake.so"}
    assert {row["name"] for row in memory} == {"allocation", None}
    # CUPTI would stop giving the nodes of graphs.
    assert not (capture.trace / "graph_trace").exists()


def test_light_preset(capturer: Capturer) -> None:
    capture = capturer.run(CUPTI_13, ["--kinds", "light"], launches=50)
    assert capture.count("kernel") == 50
    assert not (capture.trace / "api_call").exists()


def test_presets_and_names_together(capturer: Capturer) -> None:
    options = ["--kinds", "light,synchronization", "--graph", "graph"]
    capture = capturer.run(CUPTI_13, options, launches=50, sync_every=10)
    assert capture.count("synchronization") == 5
    assert (capture.trace / "graph_trace").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [("nvlink", "cannot be recorded"), ("nothing", "there is no kind 'nothing'")],
)
def test_kinds_that_cannot_be(capturer: Capturer, name: str, words: str) -> None:
    capture = capturer.run(CUPTI_13, ["--kinds", name], launches=1)
    assert capture.status == 2
    assert words in capture.stderr
