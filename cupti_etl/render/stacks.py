"""GPU time by Python stack for the programs that draw flame graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.render.output import open_output
from cupti_etl.storage.place import refuse_existing

if TYPE_CHECKING:
    from cupti_etl.api import Trace

_QUERY = "python_flame_graph"
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def export_stacks(trace: Trace, out: Path | None, form: str, *, overwrite: bool = False) -> None:
    """Write the answer of ``python_flame_graph`` to a new file, or to standard output.

    Args:
        trace: what is asked.
        out: the file; None for standard output.
        form: ``folded``, which is a line a stack with its nanoseconds behind it, or
            ``speedscope``, which is that program's JSON.
        overwrite: whether a file of that name is replaced.

    Raises:
        UsageError: no Python stacks were kept, or the file exists already.
    """
    rows = [(row["stack"], row["gpu_ns"]) for row in trace.query(_QUERY)]
    if not rows:
        why = dict(library()[_QUERY].requires)["_stacked_process"]
        raise UsageError(why.rstrip("."), "cupti-etl capture --python-stacks -- python train.py")
    if form == "folded":
        text = "".join(f"{stack} {ns}\n" for stack, ns in rows)
    else:
        text = _speedscope(rows, trace.path.name)
    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    with open_output(out) as file:
        file.write(text.encode())


def _speedscope(rows: list[tuple[str, int]], name: str) -> str:
    frames: dict[str, int] = {}
    samples = [
        [frames.setdefault(part, len(frames)) for part in stack.split(";")] for stack, _ in rows
    ]
    weights = [ns for _, ns in rows]
    profile: dict[str, Any] = {
        "type": "sampled",
        "name": f"GPU time of {name}",
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
    file = {
        "$schema": _SCHEMA,
        "exporter": "cupti-etl",
        "name": name,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [profile],
    }
    return json.dumps(file) + "\n"
