"""cupti_etl.open: what opens, what does not and why, and a folder that changes meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.rights import without_reading_all
from support.trace import MakeTrace, add_part, as_table, assert_rows, write_part, write_trace

import cupti_etl
from cupti_etl.errors import TraceError, UsageError
from cupti_etl.queries.plausible import plausible_tables
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES, arrow_schema
from cupti_etl.storage import manifest
from cupti_etl.storage.exchange import exchange

ONE = "start_ns end_ns name\n 0 10 a"
TWO = "start_ns end_ns name\n 0 10 a\n 20 30 b"


def test_every_table_is_a_view_with_its_columns(trace: MakeTrace) -> None:
    opened = trace(kernel=ONE)
    assert set(opened.tables) == set(TABLES)
    for table in TABLES:
        assert list(opened.sql(f"FROM {table}").columns) == arrow_schema(table).names
        assert opened.sql(f"FROM {table}").arrow().schema.types == arrow_schema(table).types


def test_a_path_that_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="there is no trace .*nowhere") as raised:
        cupti_etl.open(tmp_path / "nowhere")
    assert raised.value.hint
    (tmp_path / "file").write_text("{")
    with pytest.raises(TraceError, match="file is a file, not a trace") as raised:
        cupti_etl.open(tmp_path / "file")
    assert f"cupti-etl import {tmp_path / 'file'}" in str(raised.value.hint)
    for name, text, what in (("file", "", "empty"), ("run.duckdb", "DUC", "damaged")):
        (tmp_path / name).write_text(text)
        with pytest.raises(TraceError, match=f"{name} is {what}") as raised:
            cupti_etl.open(tmp_path / name)
        assert "copy it again" in str(raised.value.hint)
    with pytest.raises(TraceError, match="/dev/null is neither a folder nor a file"):
        cupti_etl.open("/dev/null")
    with pytest.raises(TraceError, match=r"is not a trace: it holds no part-\*\.parquet"):
        cupti_etl.open(tmp_path)
    write_trace(tmp_path / "run", kernel=TWO)
    with pytest.raises(TraceError, match="is not a trace, but holds 1 trace") as raised:
        cupti_etl.open(tmp_path)
    assert f"such as {tmp_path / 'run'}; cupti-etl runs {tmp_path} lists" in str(raised.value.hint)


@pytest.mark.parametrize("shut", ["", "kernel"])
def test_a_folder_that_may_not_be_read(tmp_path: Path, shut: str) -> None:
    path = write_trace(tmp_path / "run", kernel=TWO)
    (path / shut).chmod(0o000)
    asking = [sys.executable, "-m", "cupti_etl", "query", "kernel_summary", "run"]
    done = subprocess.run(
        without_reading_all(asking), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    (path / shut).chmod(0o700)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"cupti-etl: {Path('run', shut)} cannot be read: Permission denied",
        "  whoever owns it can let you: chmod -R a+rX",
    ]


def test_a_trace_of_a_newer_layout(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    newer = {"cupti_etl.schema_version": str(SCHEMA_VERSION + 1)}
    write_part(
        path / "memset/part-000001.parquet", as_table("memset", "").replace_schema_metadata(newer)
    )
    with pytest.raises(TraceError, match=r"memset/part-000001\.parquet has table layout 2") as why:
        cupti_etl.open(path)
    assert "newer" in why.value.hint


@pytest.mark.parametrize("rows", [1, 0])
def test_parts_that_hold_nothing_are_not_looked_into(tmp_path: Path, rows: int) -> None:
    """By the manifest: most tables of a thousand ranks are empty."""
    path = write_trace(tmp_path / "run", kernel=ONE)
    part = path / "kernel/part-000000.parquet"
    newer = {"cupti_etl.schema_version": str(SCHEMA_VERSION + 1)}
    write_part(part, as_table("kernel", ONE).replace_schema_metadata(newer))
    entry = manifest.Entry(rows, part.stat().st_size, manifest.checksum(part))
    (path / manifest.NAME).write_bytes(manifest.as_json({"kernel": {part.name: entry}}))
    with pytest.raises(TraceError) if rows else nullcontext():
        cupti_etl.open(path).close()
    write_part(path / "kernel/part-000001.parquet", as_table("kernel", ONE))
    with pytest.raises(TraceError, match="table layout"):
        cupti_etl.open(path)


def test_an_older_trace_lacks_tables_and_columns(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=TWO)
    shutil.rmtree(path / "marker")
    (path / "memset/part-000000.parquet").unlink()
    old = as_table("kernel", ONE).drop_columns(["grid_id", "end_ns"])
    write_part(path / "kernel/part-000001.parquet", old)
    with cupti_etl.open(path) as opened:
        assert opened.sql("FROM marker").columns == tuple(arrow_schema("marker").names)
        assert opened.query("nvtx_range").count() == 0
        assert opened.sql("FROM memset").count() == 0
        assert_rows(
            opened.sql("SELECT name, end_ns, grid_id FROM kernel ORDER BY ALL"),
            """
            name end_ns grid_id
            a    10     -
            a    -      -
            b    30     -
            """,
        )


def test_what_a_newer_version_added_can_be_read(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    more = as_table("kernel", ONE)
    write_part(path / "kernel/part-000001.parquet", more.append_column("novel", more["start_ns"]))
    (path / "from_the_future").mkdir()
    write_part(path / "from_the_future/part-000000.parquet", as_table("clock", "realtime_ns\n 5"))
    with cupti_etl.open(path) as opened:
        assert_rows(opened.sql("FROM kernel_named"), "name novel\n a 0")
        assert_rows(opened.sql("FROM from_the_future"), "realtime_ns\n 5")
        assert "from_the_future" in opened.tables


def test_what_is_being_written_is_not_read(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    (path / "kernel/part-000001.tmp").write_text("half a part")
    (path / "kernel/.part-000001.parquet").write_text("half a part")
    with cupti_etl.open(path) as opened:
        assert opened.sql("FROM kernel").count() == 1


def damage_tail(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-10])


def damage_all(part: Path) -> None:
    part.write_bytes(b"")


def damage_footer(part: Path) -> None:
    data = part.read_bytes()
    part.write_bytes(data[:-300] + b"\x5a" * 292 + data[-8:])


@pytest.mark.parametrize("damage", [damage_tail, damage_all, damage_footer])
def test_a_damaged_part_is_named(tmp_path: Path, damage) -> None:
    path = write_trace(tmp_path / "run", kernel=TWO)
    part = add_part(path, "kernel", TWO)
    with cupti_etl.open(path) as opened:
        damage(part)
        with pytest.raises(TraceError, match=r"kernel/part-000001\.parquet is damaged"):
            opened.query("kernel_summary").arrow()
    with pytest.raises(TraceError, match=r"kernel/part-000001\.parquet is damaged") as raised:
        cupti_etl.open(path)
    assert "move the file away" in raised.value.hint


def test_a_page_that_is_damaged_is_found_while_reading(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    rows = "\n".join(f"{at * at} {at} kernel{at}" for at in range(5000))
    part = add_part(path, "kernel", f"start_ns end_ns name\n{rows}")
    data = part.read_bytes()
    part.write_bytes(data[:200] + b"\xff" * 3000 + data[3200:])
    with cupti_etl.open(path) as opened:
        for read in (
            lambda result: result.arrow(),
            lambda result: result.reader().read_all(),
            list,
        ):
            with pytest.raises(TraceError, match=r"kernel/part-000001\.parquet is damaged"):
                read(opened.sql("FROM kernel"))


def test_words_with_quotes_and_stars_in_the_path(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "it's [a] *run?*", kernel=ONE)
    write_trace(tmp_path / "it's a xrun", kernel=TWO)
    with cupti_etl.open(path) as opened:
        assert opened.sql("FROM kernel").count() == 1


def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trace(tmp_path / "run", kernel=ONE)
    monkeypatch.chdir(tmp_path)
    with cupti_etl.open("run") as opened:
        os.chdir("/")
        assert opened.sql("FROM kernel").count() == 1
        assert opened.path == tmp_path / "run"


# --- a folder that grows


def test_new_and_replaced_parts_are_seen(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE, process="process_id emitted\n 1 5")
    with cupti_etl.open(path) as opened:
        summary = opened.query("kernel_summary")
        assert_rows(summary, "name calls\n a 1")
        add_part(path, "kernel", TWO)
        assert_rows(summary, "name calls\n a 2\n b 1")
        write_part(
            path / "process/part-000000.parquet", as_table("process", "process_id emitted\n 1 9")
        )
        assert_rows(opened.sql("FROM process"), "emitted\n 9")


def test_a_table_that_had_no_parts_gets_some(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    shutil.rmtree(path / "kernel")
    with cupti_etl.open(path) as opened:
        assert opened.query("kernel_summary").count() == 0
        add_part(path, "kernel", ONE)
        assert_rows(opened.query("kernel_summary"), "name calls\n a 1")


@pytest.mark.slow
def test_a_folder_that_is_exchanged_all_the_time_gives_whole_answers(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    for _ in range(5):
        add_part(path, "kernel", TWO)
    stop = threading.Event()

    def tidy() -> None:
        made = tmp_path / "made"
        number = 0
        while not stop.is_set():
            number += 1
            made.mkdir()
            for at in range(1 + number % 4):
                rows = pq.read_table(path / "kernel") if at == 0 else as_table("kernel", "")
                # Names that do not come back, so that a reader does meet missing files.
                write_part(made / f"part-{number * 10 + at:06d}.parquet", rows)
            exchange(made, path / "kernel")
            shutil.rmtree(made)
            # Far more often than any capture does, and yet not in every single query.
            stop.wait(0.02)

    def ask(_: int) -> int:
        for _ in range(15):
            assert opened.sql("FROM kernel").arrow().num_rows == 10
            assert sum(batch.num_rows for batch in opened.sql("FROM kernel").reader()) == 10
        return 1

    with cupti_etl.open(path) as opened, ThreadPoolExecutor(3) as pool:
        tidying = pool.submit(tidy)
        try:
            assert sum(pool.map(ask, range(2))) == 2
        finally:
            stop.set()
        tidying.result()


@pytest.mark.slow
def test_a_table_aside_for_good_is_an_error_and_not_an_empty_table(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    (path / "kernel").rename(path / ".kernel.aside")
    with pytest.raises(TraceError, match="vanished"):
        cupti_etl.open(path)


@pytest.mark.slow
def test_parts_that_stay_away_are_an_error(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:
        shutil.rmtree(path / "kernel")
        with pytest.raises(TraceError, match="parts of the trace vanished") as raised:
            opened.query("kernel_summary").arrow()
        assert "run it again" in raised.value.hint


def test_threads_ask_at_the_same_time(trace: MakeTrace) -> None:
    opened = trace(kernel=TWO)
    with ThreadPoolExecutor(4) as pool:
        totals = pool.map(
            lambda at: next(iter(opened.sql("SELECT $at + count(*) AS n FROM kernel", at=at)))["n"],
            range(40),
        )
        assert list(totals) == [at + 2 for at in range(40)]


def test_a_closed_trace_says_so(trace: MakeTrace) -> None:
    opened = trace()
    opened.close()
    with pytest.raises(UsageError, match="the trace is closed"):
        opened.sql("SELECT 1")


def test_what_reads_what_was_computed_of_a_trace_that_grows(tmp_path: Path) -> None:
    """What was computed is forgotten when parts come, and what reads it is made anew, too."""
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as trace:
        assert trace.query("step").count() == 0
        add_part(path, "kernel", TWO)
        assert trace.query("step").count() == 0
        assert trace.query("kernel_summary").count() == 2


def test_parts_that_are_not_there_for_a_moment_are_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def plausible(con: Any, sources: Any, tables: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
        looked.extend(tables)
        found = plausible_tables(con, sources, tables)
        return (
            (table, rows if len(looked) > 1 else "", is_empty) for table, rows, is_empty in found
        )

    monkeypatch.setattr("cupti_etl.queries.table_views.plausible_tables", plausible)
    with cupti_etl.open(write_trace(tmp_path / "run", kernel=TWO)) as opened:
        assert opened.sql("FROM kernel").count() == 2
    assert looked == ["kernel", "kernel"]
