"""The code that ran on the GPUs as text: instructions, and the lines of source they are from."""

from __future__ import annotations

from cupti_etl.queries.materialize import Operator
from cupti_etl.sass.disassembler import find_nvdisasm
from cupti_etl.sass.rows import READS, make


def operators() -> dict[str, Operator]:
    """What computes the query ``sass``.

    What is kept in a trace's folder without a disassembler has another name, so that it is not
    taken once there is one.
    """
    name = "sass" if find_nvdisasm() else "sass_without_nvdisasm"
    table = "_derived_sass"
    return {
        "sass": Operator(
            name, READS, (table,), lambda con, *_: make(con), {"sass": f"FROM {table}"}
        )
    }
