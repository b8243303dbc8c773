"""Which operator and which module of PyTorch changed: parts that add to the change of GPU time."""

from __future__ import annotations

from collections import defaultdict

import pytest
from support.trace import MakeTrace

from cupti_etl.analysis.diff import diff_as_given

ROUNDS = 6


def model(linear_ns: int, backward_ns: int, loose_ns: int) -> dict[str, str]:
    """Rounds of a module that calls an operator, its backward pass, and a launch of nobody's."""
    marks, arguments, calls, kernels = [], [], [], []

    def marked(number: int, thread: int, start: int, end: int, name: str, domain: str) -> None:
        marks.append(f'1 {thread} {number} start {start} {domain} "{name}"')
        marks.append(f"1 {thread} {number} end {end} {domain} -")

    def launched(number: int, thread: int, at: int, length: int) -> None:
        calls.append(f"1 {thread} runtime {number} cudaLaunchKernel {at} {at + 1}")
        kernels.append(f"1 0 {number} {at + 2} {at + 2 + length} k")

    for n in range(ROUNDS):
        at, first = 10_000 * n, 10 * n
        marked(first, 5, at, at + 900, "nn.Module: Net_0", "python_function")
        marked(first + 1, 5, at + 10, at + 800, "nn.Module: Linear_0", "python_function")
        marked(first + 2, 5, at + 20, at + 700, "aten::linear", "cpu_op")
        launched(first, 5, at + 30, linear_ns)
        marked(first + 3, 6, at + 2000, at + 2900, "AddmmBackward0", "cpu_op")
        launched(first + 1, 6, at + 2010, backward_ns)
        launched(first + 2, 5, at + 5000, loose_ns)
        for marker, thread in ((first + 2, 0), (first + 3, 5)):
            arguments.append(
                f'1 {marker} \'{{"Sequence number": {n}, "Fwd thread id": {thread}}}\''
            )
    rows = "\n".join
    return {
        "device": "process_id device_id device_uuid\n1 0 GPU-a",
        "marker": rows(["process_id thread_id marker_id event timestamp_ns domain name", *marks]),
        "argument": rows(["process_id marker_id arguments", *arguments]),
        "api_call": rows(
            ["process_id thread_id domain correlation_id name start_ns end_ns", *calls]
        ),
        "kernel": rows(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
    }


@pytest.mark.slow
def test_parts_add_to_the_change_of_gpu_time(trace: MakeTrace) -> None:
    found = diff_as_given(trace(**model(100, 200, 50)), trace(**model(100, 260, 40)))
    changes: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in found.table.to_pylist():
        changes[row["subject"]][row["name"]] = row["change_ns"]
    assert changes["operator"] == {
        "aten::linear": 0,
        "AddmmBackward0": 60 * ROUNDS,
        "outside operators": -10 * ROUNDS,
    }
    # The backward pass is that of the module that ran forward.
    assert changes["module"] == {
        "Net_0 / Linear_0": 60 * ROUNDS,
        "outside modules": -10 * ROUNDS,
    }
    for subject in ("operator", "module"):
        assert sum(changes[subject].values()) == sum(changes["kernel"].values())
    verdicts = {
        row["name"]: row["verdict"]
        for row in found.table.to_pylist()
        if row["subject"] in ("operator", "module")
    }
    assert verdicts["AddmmBackward0"] == verdicts["Net_0 / Linear_0"] == "regress"
    assert verdicts["aten::linear"] == "none"


@pytest.mark.slow
def test_what_one_run_only_has_of_pytorch_is_not_compared(trace: MakeTrace) -> None:
    whole = model(100, 200, 50)
    bare = {name: rows for name, rows in whole.items() if name not in ("marker", "argument")}
    found = diff_as_given(trace(**whole), trace(**bare))
    assert {row["subject"] for row in found.table.to_pylist()} == {"kernel"}
