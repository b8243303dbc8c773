"""Time in which GPUs are idle as the host compiles."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

MS = 1_000_000
DEVICE = """
    process_id device_id
    1          0
"""


def launched(*starts_ms: int) -> dict[str, str]:
    """Kernels of 1 ms, launched when they start."""
    calls = ["process_id thread_id correlation_id domain name start_ns end_ns"]
    kernels = ["process_id device_id stream_id correlation_id start_ns end_ns name"]
    for number, start in enumerate(starts_ms):
        at = start * MS
        calls.append(f"1 5 {number} runtime cudaLaunchKernel {at} {at + 10}")
        kernels.append(f"1 0 7 {number} {at + 10} {at + MS} k")
    return {"device": DEVICE, "api_call": "\n".join(calls), "kernel": "\n".join(kernels)}


def ranges(*spans: tuple[int, str, int, int], domain: str = "TSL") -> str:
    rows = ["process_id thread_id marker_id event timestamp_ns domain name"]
    for number, (thread, name, start, end) in enumerate(spans):
        rows.append(f'1 {thread} {number} start {start * MS} {domain} "{name}"')
        rows.append(f"1 {thread} {number} end {end * MS} - -")
    return "\n".join(rows)


def test_xla_compiles_in_other_threads_too(trace: MakeTrace) -> None:
    """Of 20 ms without work, 16 are of XlaCompile and of a thread that goes on after its end."""
    opened = trace(
        marker=ranges(
            (5, "XlaCompile:#module=jit_f#", 2, 12),
            (5, "XlaPass:#name=cse,module=jit_f,program_id=7#", 3, 5),
            (6, "XlaCompileBackend:#module=gemm_fusion,program_id=9#", 10, 18),
        ),
        **launched(0, 21, 22),
    )
    (row,) = opened.query("finding_compiling").arrow().to_pylist()
    assert (row["gpu"], row["culprit"]) == (0, "above all jit_f")
    assert row["saved_ns"] == pytest.approx(16 * MS, abs=MS)
    (host,) = opened.query("finding_host").arrow().to_pylist()
    assert row["saved_ns"] + host["saved_ns"] == pytest.approx(20 * MS, abs=100)
    assert host["culprit"] == "above all before"


@pytest.mark.parametrize(
    "name",
    [
        "_compile.compile_inner (dynamo_timed)",
        "torch/_dynamo/convert_frame.py(783): _compile",
        "triton/compiler/compiler.py(227): compile",
    ],
)
def test_torch_and_triton_compile(trace: MakeTrace, name: str) -> None:
    opened = trace(
        marker=ranges((5, "train.py(3): main", 0, 23), (5, name, 2, 20), domain="python_function"),
        **launched(0, 21, 22),
    )
    (row,) = opened.query("finding_compiling").arrow().to_pylist()
    assert row["culprit"] == f"above all {name}"


def test_what_runs_compiled_code_does_not_compile(trace: MakeTrace) -> None:
    names = (
        "Torch-Compiled Region: 0/0",
        "CUDAGraphNode.record (dynamo_timed)",
        "torch/compiler/__init__.py(270): is_compiling",
        "## Call CompiledFxGraph fn4gka ##",
        "XlaModule:#hlo_module=jit_f,program_id=7#",
    )
    opened = trace(
        marker=ranges(*((5, name, 2, 20) for name in names)),
        **launched(0, 21, 22),
    )
    assert opened.query("finding_compiling").count() == 0
    assert_rows(opened.sql("SELECT count(*) AS n FROM _compile_range"), "n\n0")


def loading(name: str, at_ms: int, **parts: str) -> dict[str, str]:
    """A call that loads a module from 500 us before `at_ms` on, for 400 us."""
    start = at_ms * MS - 500_000
    call = f"1 5 99 driver {name} {start} {start + 400_000}"
    return {**parts, "api_call": f"{parts['api_call']}\n{call}"}


@pytest.mark.parametrize("name", ["cuModuleLoad", "cuModuleLoadDataEx", "hipModuleLoadData"])
def test_who_loads_a_module_has_compiled_it(trace: MakeTrace, name: str) -> None:
    """Of 20 ms in which a GPU waits, 0.4 are of the call; in a pause of 6 ms none is loaded."""
    opened = trace(**loading(name, 21, **launched(0, 21, 28)))
    (row,) = opened.query("finding_compiling").arrow().to_pylist()
    assert (row["culprit"], row["kernel"]) == ("above all before", "k")
    assert row["saved_ns"] == pytest.approx(19.6 * MS, abs=100)
    (host,) = opened.query("finding_host").arrow().to_pylist()
    assert host["saved_ns"] == pytest.approx(6 * MS, abs=100)


def test_what_was_compiled_before_is_only_read(trace: MakeTrace) -> None:
    opened = trace(**loading("cuModuleLoadData", 7, **launched(0, 7)))
    assert opened.query("finding_compiling").count() == 0
    (host,) = opened.query("finding_host").arrow().to_pylist()
    assert host["saved_ns"] == pytest.approx(5.6 * MS, abs=100)


@pytest.mark.parametrize(
    ("name", "finding"),
    [("cuMemAlloc_v2", "finding_host"), ("cudaMemGetInfo", "finding_compiling")],
)
def test_what_the_host_does_before_it_allocates_is_no_compiling(
    trace: MakeTrace, name: str, finding: str
) -> None:
    """OpenMP and OpenACC load their code, compiled before, when the program first comes to it."""
    parts = loading("cuModuleLoadDataEx", 21, **launched(0, 21))
    parts["api_call"] += f"\n1 5 98 driver {name} {18 * MS} {19 * MS}"
    opened = trace(**parts)
    (row,) = opened.query(finding).arrow().to_pylist()
    assert row["saved_ns"] == pytest.approx(18.6 * MS, abs=100)


def test_libraries_that_load_their_code_do_not_compile(trace: MakeTrace) -> None:
    opened = trace(**loading("cuLibraryLoadData", 21, **launched(0, 21)))
    assert opened.query("finding_compiling").count() == 0


def test_where_ranges_tell_of_compiling_loading_a_module_says_nothing_more(
    trace: MakeTrace,
) -> None:
    opened = trace(
        marker=ranges((5, "XlaCompile:#module=jit_f#", 2, 12)),
        **loading("cuModuleLoadData", 21, **launched(0, 21)),
    )
    (row,) = opened.query("finding_compiling").arrow().to_pylist()
    assert row["culprit"] == "above all jit_f"
    assert row["saved_ns"] == pytest.approx(10 * MS, abs=MS)
