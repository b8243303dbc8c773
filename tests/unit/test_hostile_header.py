"""Whatever a process writes into its header, the tables about it can be written.

One damaged header must not keep the rows of all other processes out of the trace.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.records import FOREIGN, KERNEL, Bench

from cupti_etl.capture.traced import Traced
from cupti_etl.native.headers import members
from cupti_etl.schema.arrow import arrow_schema

# By the C type in etl/abi.h.
LARGEST = {
    "process_id": 2**64 - 1,
    **dict.fromkeys(("pid", "parent_pid", "driver_version"), 2**31 - 1),
    **dict.fromkeys(("cupti_version", "state", "is_selected", "replay_run"), 2**32 - 1),
    "is_settled": 2**32 - 1,
    **dict.fromkeys(("steps", "steps_live", "layout_generation"), 0),
    **dict.fromkeys(("rank", "local_rank", "world_size", "slurm_proc_id"), 2**63 - 1),
    **dict.fromkeys(("slurm_job_id", "start_ns", "taken_ns", "regained_ns"), 2**63 - 1),
    **dict.fromkeys(
        ("orphaned_ns", "adopted_ns", "pc_failure", "range_failure", "sass_failure"), 2**63 - 1
    ),
    **dict.fromkeys(("last_flush_ns", "last_return_ns", "finished_ns", "first_held_ns"), 2**63 - 1),
}
TEXTS = ("host", "cupti_path", "argv", "detail")
COUNTERS = {
    name: 2**64 - 1 for name in members("etl_process_info") if name not in (*LARGEST, *TEXTS)
}


def write(info: dict[str, Any], **others: Any) -> dict[str, list[dict[str, Any]]]:
    """Rows of the tables about a process, as they come back out of Arrow."""
    bench = Bench("13.0.85", **others, **info)
    traced = Traced(bench.process, None, 10**18)
    rows = {
        "process": [traced.row()],
        "loss": [loss.row() for loss in traced.losses()],
    }
    return {
        table: pa.Table.from_pylist(content, arrow_schema(table)).to_pylist()
        for table, content in rows.items()
    }


def test_plain_values_arrive() -> None:
    found = write({"rank": 3, "host": "node", "handed_over": 5, "state": 2})
    assert found["process"][0]["rank"] == 3
    assert found["process"][0]["emitted"] == 5


@pytest.mark.parametrize("name", sorted({**LARGEST, **COUNTERS}))
def test_the_largest_number_anywhere(name: str) -> None:
    write({name: {**LARGEST, **COUNTERS}[name]})


def test_an_errno_that_there_is_not() -> None:
    found = write({"pc_failure": -(2**63)})
    assert "PCs were not sampled, or not to the end: error (-9223372036854775808)" in [
        row["detail"] for row in found["loss"]
    ]


def test_the_largest_losses() -> None:
    write({}, ring_full={KERNEL: 2**64 - 1, FOREIGN: 2**64 - 1})


def test_text_longer_than_its_place_is_cut() -> None:
    found = write({"host": "h" * 5000, "detail": "\x00\x01"})
    assert found["process"][0]["host"] == "h" * 127
    assert found["process"][0]["detail"] is None
