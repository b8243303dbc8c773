"""What an import does not keep: rows of ``import_skipped``, lines of the command, the verdict."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from imports.conftest import Import, event, kineto, nsys
from support.slow import few
from support.trace import assert_rows
from unit.test_demangling import bomb

import cupti_etl
from cupti_etl.cli import cli

PLACE = {"device": 0, "context": 1, "stream": 7}
VERDICT = "SELECT subject FROM capture_health WHERE section = 'verdict'"


def test_what_has_no_table_and_what_says_the_same(tmp_path: Path, imported: Import) -> None:
    """Events of other accelerators, arrows, and the order of lanes."""
    file = kineto(
        tmp_path / "t.json",
        event("kernel", "k", 1e15, 5, **PLACE),
        *(event("mtia_ccp_events", "work", 1e15 + n, 1) for n in range(3)),
        event("cuda_profiler_range", "sm__cycles", 1e15, 5),
        {"ph": "C", "name": "GPU memory", "pid": 7, "ts": 1e15},
        {"ph": "s", "cat": "ac2g", "id": 1, "ts": 1e15},
        # Not to be taken for the work of which it is an arrow.
        {"ph": "s", "cat": "kernel", "id": 1, "ts": 1e15},
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_sort_index", "pid": 7, "args": {"sort_index": 1}},
        {"name": "nothing", "ts": 1e15},
        5,  # type: ignore[arg-type]
    )
    trace = imported(file)
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category    what                      events
        invalid     "elements of traceEvents" 1
        redundant   "arrows ac2g"             1
        redundant   "events of phase M"       1
        unsupported "arrows kernel"           1
        unsupported cuda_profiler_range       1
        unsupported "events of no kind"       1
        unsupported "events of phase C"       1
        unsupported mtia_ccp_events           3
        """,
    )
    assert_rows(trace.sql("SELECT DISTINCT file FROM import_skipped"), f"file\n{file}")
    assert_rows(
        trace.sql(VERDICT),
        "subject\n'no losses known, imported; not kept: invalid 1, unsupported 7'",
    )
    assert_rows(
        trace.sql("FROM capture_health WHERE section = 'skipped' AND subject = 'arrows ac2g'"),
        """
        subject       records stored lost detail
        "arrows ac2g" 1       -      -    \
"redundant: from calls to their work on GPUs: correlation ids say the same"
        """,
    )
    assert_rows(trace.sql("SELECT count(*) AS n FROM kernel"), "n\n1")


def test_what_is_redundant_is_no_reason_to_doubt(tmp_path: Path, imported: Import) -> None:
    file = kineto(
        tmp_path / "t.json",
        event("kernel", "k", 1e15, 5, **PLACE),
        {"ph": "s", "cat": "ac2g", "id": 1, "ts": 1e15},
    )
    assert_rows(imported(file).sql(VERDICT), "subject\n'no losses known, imported'")


def test_the_command_says_it(tmp_path: Path) -> None:
    files = [
        kineto(
            tmp_path / f"{rank}.json",
            event("kernel", "k", 1e15 + rank, 5, **PLACE),
            event("mtia_ccp_events", "work", 1e15, 1),
            {"ph": "s", "cat": "ac2g", "id": 1, "ts": 1e15},
        )
        for rank in (0, 1)
    ]
    out = tmp_path / "trace"
    result = CliRunner().invoke(cli, ["import", *map(str, files), "-o", str(out)])
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "not kept" in line] == [
        "cupti-etl: not kept, redundant: arrows ac2g 2",
        "cupti-etl: not kept, unsupported: mtia_ccp_events 2",
    ]


KERNELS = """
    start {end} deviceId contextId streamId correlationId globalPid demangledName gridX
    100   {ends} 0       1         7        5             11:0      2             64
    400   {ends} 0       1         7        6             11:0      2             64
"""


def test_kernels_without_an_end(tmp_path: Path, imported: Import) -> None:
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            CUPTI_ACTIVITY_KIND_KERNEL=KERNELS.format(end="", ends=""),
            StringIds="id value\n2 gemm",
            OSRT_API="start end\n1 2\n3 4",
        )
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category    what                           events detail
        invalid     CUPTI_ACTIVITY_KIND_KERNEL.end 2      "the file has no such column"
        unsupported OSRT_API                       2      "no table has a place for it"
        """,
    )
    assert_rows(
        trace.sql(VERDICT),
        "subject\n'no losses known, imported; not kept: invalid 2, unsupported 2'",
    )


@pytest.mark.parametrize(
    ("version", "said"),
    few(
        3,
        [
            ("3.0.0", None),
            ("3.25.9", None),
            ("2.7.1", "what only schema 2.7.1 has"),
            ("3.26.0", "what only schema 3.26.0 has"),
            (None, "what only an unknown schema has"),
            ("9" * 5000, "what only an unknown schema has"),
        ],
    ),
)
def test_schemas_that_nobody_has_read(
    tmp_path: Path, imported: Import, version: str | None, said: str | None
) -> None:
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            version=version,
            CUPTI_ACTIVITY_KIND_KERNEL=KERNELS.format(end="end", ends="500"),
            StringIds="id value\n2 gemm",
        )
    )
    found = [
        (row["category"], row["what"], row["events"]) for row in trace.sql("FROM import_skipped")
    ]
    assert found == ([("unsupported", said, None)] if said else [])
    (row,) = trace.sql(VERDICT)
    assert row["subject"].endswith("unsupported ?" if said else "imported")


def test_values_that_are_no_numbers(tmp_path: Path, imported: Import) -> None:
    """They are NULL, as those are that are not there, and are counted."""
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            CUPTI_ACTIVITY_KIND_KERNEL="""
                start end deviceId streamId gridX demangledName
                100   200 0        seven    64    2
                300   400 -        0.5      1e300 2
            """,
            StringIds="id value\n2 gemm",
        )
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category what                                events
        invalid  CUPTI_ACTIVITY_KIND_KERNEL.gridX    1
        invalid  CUPTI_ACTIVITY_KIND_KERNEL.streamId 2
        """,
    )
    assert_rows(
        trace.sql("FROM kernel ORDER BY start_ns"), "device_id stream_id grid_x\n0 - 64\n- - -"
    )


def test_devices_that_are_there_twice(tmp_path: Path, imported: Import) -> None:
    trace = imported(
        nsys(
            tmp_path / "t.sqlite",
            CUPTI_ACTIVITY_KIND_KERNEL=KERNELS.format(end="end", ends="500"),
            StringIds="id value\n2 gemm",
            TARGET_INFO_CUDA_DEVICE="cudaId pid uuid\n0 11 a\n0 11 a\nx 11 b",
        )
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        """
        category  what                           events
        invalid   TARGET_INFO_CUDA_DEVICE.cudaId 1
        redundant TARGET_INFO_CUDA_DEVICE        1
        """,
    )
    assert_rows(trace.sql("FROM device"), "device_id device_uuid\n0 GPU-a")


def test_times_that_run_over(tmp_path: Path, imported: Import) -> None:
    """A time that is none once the base has been added, and a length that leads beyond the end."""
    trace = imported(
        kineto(
            tmp_path / "t.json",
            event("kernel", "good", 1e3, 5, **PLACE),
            event("kernel", "over", 9.2e15, 5, **PLACE),
            event("kernel", "long", 1e3, 9e15, **PLACE),
            baseTimeNanoseconds=1 << 60,
        )
    )
    assert_rows(
        trace.sql("FROM import_skipped"),
        "category what events\ninvalid kernel.dur 1\ninvalid kernel.ts 1",
    )
    assert_rows(
        trace.sql("SELECT name, end_ns - start_ns AS ns FROM kernel ORDER BY name"),
        "name ns\ngood 5000\nlong -",
    )


def test_a_trace_of_before_has_no_such_table(tmp_path: Path, imported: Import) -> None:
    imported(kineto(tmp_path / "t.json", event("kernel", "k", 1e15, 5, **PLACE)))
    shutil.rmtree(tmp_path / "trace" / "import_skipped")
    with cupti_etl.open(tmp_path / "trace") as trace:
        assert_rows(trace.sql(VERDICT), "subject\n'no losses known, imported'")


def test_several_files_keep_their_names(tmp_path: Path, imported: Import) -> None:
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for n, file in enumerate(files):
        kineto(file, event("kernel", "k", 1e15 + n, 5, **PLACE), event("mtia", "m", 1e15, 1))
    trace = imported(*files)
    assert_rows(
        trace.sql("SELECT parse_filename(file) AS f, events FROM import_skipped ORDER BY 1"),
        "f events\na.json 1\nb.json 1",
    )


@pytest.mark.parametrize("depth", [33, 60])
def test_a_name_that_stands_for_gigabytes(tmp_path: Path, imported: Import, depth: int) -> None:
    """It stays mangled, whole, and the name before its arguments is its short one."""
    file = kineto(tmp_path / "t.json", event("kernel", bomb(depth), 1e15, 5, **PLACE))
    trace = imported(file)
    assert_rows(
        trace.sql("SELECT demangled = mangled AS same, short FROM kernel_name"),
        "same short\ntrue f",
    )
    assert_rows(
        trace.sql("FROM import_skipped"), "category what events\ninvalid kernel_name.demangled 1"
    )
