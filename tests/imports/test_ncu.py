"""Raw pages of Nsight Compute as rows of ``kernel`` and ``launch_metric``."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace import assert_rows

import cupti_etl
from cupti_etl.errors import ForeignError
from cupti_etl.imports.run import import_traces

HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","dram__bytes_read.sum","gpu__time_duration.sum","lts__t_sector_hit_rate.pct"'
)
PAGE = f"""==PROF== Connected to process 42 (/tmp/app)
hello from the program, with "quotes"
{HEAD}
"","","","","","","","","","","","Mbyte","usecond","%"
"0","42","app","127.0.0.1","_Z4copyPf","1","7","(256, 1, 1)","(1024, 2, 1)","0","9.0","67.11","45.5","33.25"
"1","42","app","127.0.0.1","_Z3fma","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0","1,024.5","n/a","0"
==PROF== Disconnected from process 42
"""


def imported(tmp_path: Path, text: str) -> cupti_etl.Trace:
    (tmp_path / "page.csv").write_text(text)
    import_traces([tmp_path / "page.csv"], tmp_path / "trace", 1, is_synced=False)
    return cupti_etl.open(tmp_path / "trace")


def test_each_launch_and_metric_is_a_row_in_base_units(tmp_path: Path) -> None:
    trace = imported(tmp_path, PAGE)
    assert_rows(
        trace.sql(
            "SELECT range_id, function, metric, value::BIGINT AS value, unit, missing, source"
            " FROM launch_metric ORDER BY range_id, metric"
        ),
        """
        range_id function  metric                     value      unit       missing source
        1        _Z4copyPf dram__bytes_read.sum       67110000   byte       -       ncu
        1        _Z4copyPf gpu__time_duration.sum     45500      nanosecond -       ncu
        1        _Z4copyPf lts__t_sector_hit_rate.pct 33         %          -       ncu
        2        _Z3fma    dram__bytes_read.sum       1024500000 byte       -       ncu
        2        _Z3fma    gpu__time_duration.sum     -          nanosecond n/a     ncu
        2        _Z3fma    lts__t_sector_hit_rate.pct 0          %          -       ncu
        """,
    )
    assert_rows(
        trace.sql("SELECT correlation_id, name, start_ns, grid_x, grid_y, block_x FROM kernel"),
        """
        correlation_id name      start_ns grid_x grid_y block_x
        1              _Z4copyPf -        1024   2      256
        2              _Z3fma    -        8      1      128
        """,
    )
    assert_rows(trace.sql("SELECT pid, stored FROM process"), "pid stored\n42 8")
    assert_rows(
        trace.sql("SELECT what, events FROM import_skipped WHERE what IN ('Stream', 'ID')"),
        "what events\nStream 2",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEAD}\n", "no raw page"),
        (
            PAGE.replace('"","","","","","","","","","","","Mbyte","usecond","%"\n', ""),
            "no raw page",
        ),
        (PAGE.replace(',"33.25"', ""), "damaged"),
    ],
)
def test_what_is_no_raw_page_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ForeignError, match=says):
        imported(tmp_path, text)
