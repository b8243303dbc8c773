"""Time by operators of PyTorch: against an own computation of key_averages, and on small traces."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.trace import MakeTrace, assert_rows

import cupti_etl
from cupti_etl.imports.run import import_traces
from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import why_empty

TRACES = sorted((Path(__file__).parents[1] / "data").glob("kineto_*.json.gz"))


@dataclass
class Event:
    """A range of the host, as a tree of torch.profiler has it."""

    name: str
    category: str
    start: int
    end: int
    shapes: str | None
    parent: Event | None = None
    children: list[Event] = field(default_factory=list)
    kernels: list[int] = field(default_factory=list)
    within: list[int] = field(default_factory=list)

    @property
    def is_operator(self) -> bool:
        return self.category != "call"

    def total(self) -> int:
        return sum(self.kernels) + sum(child.total() for child in self.children)


def read(path: Path) -> list[dict[str, Any]]:
    """Events that last; times in integer nanoseconds, as they stand in the file."""
    text = gzip.decompress(path.read_bytes())
    events = json.loads(text, parse_float=Decimal)["traceEvents"]
    timed = [event for event in events if event["ph"] == "X"]
    for event in timed:
        event["start"] = int(Decimal(event["ts"]) * 1000)
        event["end"] = event["start"] + int(Decimal(event["dur"]) * 1000)
    return timed


def threads(events: list[dict[str, Any]]) -> Iterator[list[tuple[Event, dict[str, Any]]]]:
    """Operators, annotations and calls of the host, thread by thread, in the order of time."""
    kinds = {"cpu_op": "operator", "user_annotation": "annotation", "cuda_runtime": "call"}
    found = defaultdict(list)
    for event in events:
        if event["cat"] in {**kinds, "cuda_driver": "call"}:
            dims = event["args"].get("Input Dims")
            made = Event(
                "ProfilerStep*" if event["name"].startswith("ProfilerStep#") else event["name"],
                kinds.get(event["cat"], "call"),
                event["start"],
                event["end"],
                None if dims is None else json.dumps(dims, separators=(",", ":")),
            )
            found[event["pid"], event["tid"]].append((made, event["args"]))
    for line in found.values():
        yield sorted(line, key=lambda pair: (pair[0].start, -pair[0].end))


def tree(events: list[dict[str, Any]]) -> list[Event]:
    """All of them in each other, with the times of their work on the GPU."""
    work = defaultdict(list)
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            work[event["args"]["correlation"]].append(event["end"] - event["start"])
    everything: list[Event] = []
    numbered: dict[int, Event] = {}
    launches: list[tuple[Event, dict[str, Any]]] = []
    for line in threads(events):
        around: list[Event] = []
        for event, args in line:
            while around and (event.start >= around[-1].end or event.end > around[-1].end):
                around.pop()
            if around:
                event.parent = around[-1]
                event.parent.children.append(event)
            around.append(event)
            everything.append(event)
            if event.category == "operator" and "External id" in args:
                numbered[args["External id"]] = event
            elif event.category == "call" and args["correlation"] in work:
                launches.append((event, args))
    # Until 2023 calls have the number of their operator only if it is their own, too.
    told = [args["External id"] for _, args in launches if "External id" in args]
    is_told = any(number in numbered for number in told)
    for call, args in launches:
        innermost = call.parent
        around = call.parent
        while around is not None:
            around.within += work[args["correlation"]]
            around = around.parent
        while innermost is not None and innermost.category == "call":
            innermost = innermost.parent
        owner = numbered.get(args.get("External id", -1)) if is_told else innermost
        while owner is not None and owner.category != "operator":
            owner = owner.parent
        # Beyond key_averages: what no operator asked for is the annotation's.
        if owner is None and innermost is not None and innermost.category == "annotation":
            owner = innermost
        if owner is not None:
            owner.kernels += work[args["correlation"]]
    return everything


def without_repeats(everything: list[Event]) -> list[Event]:
    """An only child of its parent's name is one with it."""
    while repeats := [
        event
        for event in everything
        if event.parent and event.parent.name == event.name and len(event.parent.children) == 1
    ]:
        gone = {id(event) for event in repeats}
        for event in repeats:
            assert event.parent is not None
            event.parent.children = event.children
            event.parent.kernels = event.kernels
            for child in event.children:
                child.parent = event.parent
        everything = [event for event in everything if id(event) not in gone]
    return everything


Figures = dict[Any, tuple[int, int, int, int, int]]


def key_averages(path: Path, by_shape: bool) -> Figures:
    """Calls, own and total time on the GPU and on the host."""
    sums: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for event in without_repeats(tree(read(path))):
        if event.is_operator:
            host = event.end - event.start
            own = host - sum(child.end - child.start for child in event.children)
            key = (event.name, event.shapes) if by_shape else event.name
            # Beyond key_averages: an annotation has what the operator around it asked for in it.
            total = sum(event.within) if event.category == "annotation" else event.total()
            for at, value in enumerate((1, sum(event.kernels), total, own, host)):
                sums[key][at] += value
    return {key: tuple(values) for key, values in sums.items()}  # type: ignore[misc]


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.split(".")[0])
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("pytorch") / "trace"
    import_traces([request.param], out, 1)
    with cupti_etl.open(out) as trace:
        yield request.param, trace


@pytest.mark.slow
def test_operators_are_those_of_key_averages(imported: Any) -> None:
    path, trace = imported
    columns = ("calls", "self_gpu_ns", "gpu_ns", "self_host_ns", "host_ns")
    found = {
        row["name"]: tuple(row[column] for column in columns)
        for row in trace.query("operator_summary")
    }
    assert found == key_averages(path, by_shape=False)
    by_shape = {
        (row["name"], row["input_dims"]): tuple(row[column] for column in columns)
        for row in trace.query("operator_shape")
    }
    assert by_shape == key_averages(path, by_shape=True)


def test_backward_passes_are_of_the_operators_that_arrows_lead_from(imported: Any) -> None:
    path, trace = imported
    events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
    arrows: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for event in events:
        if event.get("cat") == "fwdbwd":
            arrows[event["id"]][event["ph"]] = (event["tid"], int(Decimal(event["ts"]) * 1000))
    found = trace.sql("""
        SELECT forward.thread_id, forward.start_ns, function.thread_id AS pass_thread_id,
               function.start_ns AS pass_ns
        FROM _operator_forward AS link
        JOIN _operator AS forward ON forward.range_id = forward_range_id
        JOIN _operator AS function ON function.parent_range_id = link.range_id
            AND function.is_backward
    """)
    # Arrows lead to the function inside the pass.
    pairs = {((r["thread_id"], r["start_ns"]), (r["pass_thread_id"], r["pass_ns"])) for r in found}
    drawn = {(arrow["s"], arrow["f"]) for arrow in arrows.values()}
    assert drawn <= pairs
    assert len(drawn) == (181 if path.name == "kineto_fwdbwd.json.gz" else 0)


# forward [0,40) does addmm [10,30), which made the function that autograd's thread runs at 100.
KINETO_LIKE = {
    "marker": """
        process_id thread_id marker_id event timestamp_ns domain name
        1          5         1         start 0            cpu_op aten::linear
        1          5         1         end   40           cpu_op -
        1          5         2         start 10           cpu_op aten::addmm
        1          5         2         end   30           cpu_op -
        1          6         3         start 100          cpu_op "autograd::engine::evaluate_function: AddmmBackward0"
        1          6         3         end   160          cpu_op -
        1          6         4         start 105          cpu_op AddmmBackward0
        1          6         4         end   150          cpu_op -
        1          6         5         start 110          cpu_op aten::mm
        1          6         5         end   140          cpu_op -
    """,  # noqa: E501
    "argument": """
        process_id marker_id arguments
        1          1         '{"Sequence number": 7, "Fwd thread id": 0, "Input Dims": [[4,8],[2,8],[2]]}'
        1          2         '{"Sequence number": 7, "Fwd thread id": 0, "Input Dims": [[2],[4,8],[8,2]]}'
        1          3         '{"Sequence number": 7, "Fwd thread id": 1}'
        1          4         '{"Sequence number": 7, "Fwd thread id": 1}'
    """,  # noqa: E501
    "api_call": """
        process_id thread_id correlation_id domain  name             start_ns end_ns
        1          5         1              runtime cudaLaunchKernel 15       20
        1          6         2              runtime cudaLaunchKernel 115      117
        1          6         3              runtime cudaMemsetAsync  118      120
    """,
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              200      260    gemm
        1          0         2              300      310    gemm
    """,
    "memset": """
        process_id device_id correlation_id start_ns end_ns
        1          0         3              320      350
    """,
}
SUMMARY = """
    name          calls self_gpu_ns gpu_ns backward_gpu_ns launches kernels self_host_ns host_ns
    aten::addmm   1     60          60     40              1        1       15           20
    aten::mm      1     40          40     -               2        1       26           30
    aten::linear  1     0           60     40              1        1       20           40
    "autograd::engine::evaluate_function: AddmmBackward0" 1 0 40 -   2  1   15           60
    AddmmBackward0 1    0           40     -               2        1       15           45
"""


def test_operators_have_their_work_and_their_backward_pass(trace: MakeTrace) -> None:
    opened = trace(**KINETO_LIKE)
    assert_rows(opened.query("operator_summary"), SUMMARY)
    assert_rows(
        opened.sql("SELECT name, input_dims, percent::INTEGER AS percent FROM operator_shape"),
        """
        name          input_dims           percent
        aten::addmm   [[2],[4,8],[8,2]]    60
        aten::mm      -                    40
        aten::linear  [[4,8],[2,8],[2]]    0
        "autograd::engine::evaluate_function: AddmmBackward0" - 0
        AddmmBackward0 -                   0
        """,
    )


def test_sizes_in_the_spelling_of_older_pytorch(trace: MakeTrace) -> None:
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain   name
            1          5         1         start 0            Operator aten::mm
            1          5         1         end   40           Operator -
        """,
        argument="""
            process_id marker_id arguments
            1          1         '{"Input dims": [[4,8],[8,2]], "Input type": []}'
        """,
    )
    assert_rows(
        opened.sql("SELECT name, input_dims FROM operator_shape"),
        "name input_dims\naten::mm [[4,8],[8,2]]",
    )


@pytest.mark.slow
def test_without_calls_nobody_knows_what_operators_asked_for(trace: MakeTrace) -> None:
    module = """
        1          5         8         start -5           -      "nn.Module: Linear_0"
        1          5         8         end   45           -      -
    """
    marker = KINETO_LIKE["marker"] + module
    opened = trace(**{**KINETO_LIKE, "marker": marker, "api_call": ""})
    assert_rows(
        opened.query("operator_summary"),
        """
        name         calls percent self_gpu_ns gpu_ns backward_gpu_ns launches self_host_ns host_ns
        aten::mm     1     -       -           -      -               -        30           30
        aten::linear 1     -       -           -      -               -        20           40
        aten::addmm  1     -       -           -      -               -        20           20
        "autograd::engine::evaluate_function: AddmmBackward0" 1 - - - - -      15           60
        AddmmBackward0 1   -       -           -      -               -        15           45
        """,
    )
    assert_rows(
        opened.query("module_summary"),
        """
        path     calls percent activities gpu_ns self_gpu_ns backward_gpu_ns host_ns
        Linear_0 1     -       -          -      -           -               50
        """,
    )
    assert {row["kernels"] for row in opened.query("operator_summary")} == {None}
    # Nor where the profiler gave the calls and not the work.
    unseen = trace(**{**KINETO_LIKE, "marker": marker, "kernel": "", "memset": ""})
    for query in ("operator_summary", "module_summary"):
        assert {row["gpu_ns"] for row in unseen.query(query)} == {None}
    # Without either there is nothing to know.
    nothing = trace(**{**KINETO_LIKE, "marker": marker, "api_call": "", "kernel": "", "memset": ""})
    for query in ("operator_summary", "module_summary"):
        assert {row["gpu_ns"] for row in nothing.query(query)} == {0}
    # The host's own time ranks them then: most of what wraps the others is theirs.
    for query in ("operator_summary", "operator_shape"):
        names = [row["name"] for row in nothing.query(query)]
        assert names[:2] == ["aten::mm", "aten::linear"]


def test_emit_nvtx_says_it_in_the_text_of_ranges(trace: MakeTrace) -> None:
    markers = [
        ("cpu_op", "-"),
        ("aten::linear", "'aten::linear, seq = 7, op_id = 1, sizes = [[4, 8], [2, 8], [2]]'"),
        ("aten::addmm", "'aten::addmm, seq = 7, op_id = 2'"),
        ('AddmmBackward0"', 'AddmmBackward0, seq = 7"'),
        (" AddmmBackward0\n", " 'AddmmBackward0, seq = 7, op_id = 9'\n"),
        ("aten::mm", "'aten::mm, op_id = 10'"),
    ]
    text = KINETO_LIKE["marker"]
    for before, after in markers:
        assert before in text
        text = text.replace(before, after)
    opened = trace(**{**KINETO_LIKE, "marker": text, "argument": ""})
    assert_rows(opened.query("operator_summary"), SUMMARY)


def test_the_first_range_has_a_backward_pass_too(trace: MakeTrace) -> None:
    """It has no number of its own, and nothing is before it."""
    step = """
        1          5         8         start -5           cpu_op step
        1          5         8         end   45           cpu_op -
    """
    opened = trace(**{**KINETO_LIKE, "marker": KINETO_LIKE["marker"] + step})
    rows = {row["name"]: row["backward_gpu_ns"] for row in opened.query("operator_summary")}
    assert (rows["step"], rows["aten::linear"]) == (40, 40)


def test_a_backward_pass_that_may_be_of_two_operators_is_of_none(trace: MakeTrace) -> None:
    other = """
        1          9         9         start 2            cpu_op aten::mul
        1          9         9         end   3            cpu_op -
    """
    number = """
        1          9         '{"Sequence number": 7, "Fwd thread id": 0}'
    """
    opened = trace(
        **{
            **KINETO_LIKE,
            "marker": KINETO_LIKE["marker"] + other,
            "argument": KINETO_LIKE["argument"] + number,
        }
    )
    rows = opened.query("operator_summary")
    assert {row["name"]: row["backward_gpu_ns"] for row in rows if row["kind"] == "operator"} == {
        "aten::addmm": None,
        "aten::linear": None,
        "aten::mul": None,
        "aten::mm": None,
        "AddmmBackward0": None,
        "autograd::engine::evaluate_function: AddmmBackward0": None,
    }


def test_ranges_of_people_are_no_operators(trace: MakeTrace) -> None:
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 0            std::sort
            1          5         1         end   9            -
            1          5         2         start 20           "step 1"
            1          5         2         end   29           -
        """
    )
    assert list(opened.query("operator_summary")) == []
    assert "--pytorch" in (why_empty(opened, library()["operator_summary"]) or "")
