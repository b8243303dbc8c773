"""What is said of the time of a host that its profiler slowed."""

from __future__ import annotations

import pytest
from queries.test_compiling import launched, ranges
from support.trace import MakeTrace

from cupti_etl.analysis.findings import about, find


@pytest.mark.parametrize(
    ("name", "domain", "is_said"),
    [("train.py(3): main", "python_function", True), ("forward", "user_annotation", False)],
)
def test_stacks_of_python_make_the_host_slower(
    trace: MakeTrace, name: str, domain: str, is_said: bool
) -> None:
    opened = trace(marker=ranges((5, name, 0, 23), domain=domain), **launched(0, 21, 22))
    findings = find(opened)
    assert [finding.source for finding in findings] == ["finding_host"]
    assert about(opened, findings).startswith("What each could save at most, of the 23.0 ms")
    assert ("functions of Python (with_stack)" in about(opened, findings)) is is_said


def test_where_gpus_do_not_wait_for_the_host_its_stacks_are_no_matter(trace: MakeTrace) -> None:
    frames = ranges((5, "train.py(3): main", 0, 3), domain="python_function")
    opened = trace(marker=frames, **launched(0, 1, 2))
    assert "with_stack" not in about(opened, find(opened))
