"""Rows of a finished part are in the order of time, whether they had to be sorted or not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.trace import as_table

from cupti_etl.storage import compaction
from cupti_etl.storage.compaction import in_order


@pytest.mark.parametrize("few", [0, 1 << 11])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1a 2b 3c", "1a 2b 3c"),
        ("2b 1a 3c", "1a 2b 3c"),
        ("1a -b -c", "1a -b -c"),
        ("-b 1a -c", "1a -b -c"),
        ("-b 1a", "1a -b"),
        ("-2a -1b", "-2a -1b"),
        # What has the same time stays as it was.
        ("2b 1z 2a 1a", "1z 1a 2b 2a"),
        ("1b 1a", "1b 1a"),
        ("7a", "7a"),
        ("", ""),
    ],
)
def test_rows_are_in_order(
    given: str, expected: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_FEW_ROWS", few)
    rows = "\n".join(f"{word[:-1]} {word[-1]}" for word in given.split())
    found = in_order("kernel", as_table("kernel", f"start_ns name\n{rows}"))
    assert (
        " ".join(
            f"{'-' if at is None else at}{name}"
            for at, name in zip(
                *(found[key].to_pylist() for key in ("start_ns", "name")), strict=True
            )
        )
        == expected
    )


def test_what_has_no_order_stays_as_it_is() -> None:
    rows = as_table("process", "process_id\n 2\n 1")
    assert in_order("process", rows)["process_id"].to_pylist() == [2, 1]


def test_few_rows_in_order_need_no_import() -> None:
    code = (
        "import sys, pyarrow as pa\n"
        "from cupti_etl.storage.compaction import in_order\n"
        "in_order('kernel', pa.table({'start_ns': [1, 2]}))\n"
        "assert 'pyarrow.compute' not in sys.modules\n"
        "in_order('kernel', pa.table({'start_ns': [2, 1]}))\n"
        "assert 'pyarrow.compute' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
