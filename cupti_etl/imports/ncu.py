"""Raw pages of Nsight Compute: ``ncu --csv --page raw``, one row a launch and a column a metric.

What the program itself printed may stand between its lines.  The second line of the table has the
units; those with a prefix (``Mbyte``) become the base unit.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from cupti_etl.errors import ForeignError
from cupti_etl.imports.columns import make_batch
from cupti_etl.imports.source import Process, Source, new_process_id, note
from cupti_etl.schema.loss import Loss

HEAD = b'"ID","Process ID",'
_NUMBER = r"^-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$"
_TIMES = {
    "second": 1e9,
    "msecond": 1e6,
    "usecond": 1e3,
    "nsecond": 1,
    "s": 1e9,
    "ms": 1e6,
    "us": 1e3,
}
# A unit of ncu's as CUPTI's, and how many of those it is.
_UNITS = {
    **{name: ("nanosecond", factor) for name, factor in _TIMES.items()},
    "ns": ("nanosecond", 1),
    **{
        f"{prefix}byte{rest}": (f"byte{'/s' if rest else ''}", 1000**power)
        for power, prefix in enumerate(("", "K", "M", "G", "T"))
        for rest in ("", "/second", "/s")
    },
    **{
        f"{prefix}inst": ("instruction", 1000**power)
        for power, prefix in enumerate(("", "K", "M", "G"))
    },
    "sector": ("l2_sector", 1),
}
_KEPT = ("ID", "Process ID", "Kernel Name", "Block Size", "Grid Size")
_SHAPES = {"grid": "Grid Size", "block": "Block Size"}


class Ncu(Source):
    """One file."""

    kind = "ncu"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._processes: dict[str, Process] = {}

    def batches(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Rows of ``kernel``, without times, and of ``launch_metric``."""
        table, units = self._read()
        for pid in pc.unique(table["Process ID"]).to_pylist():
            owner = self._processes[pid] = Process(new_process_id())
            owner.pid = int(pid) if pid.isdecimal() and len(pid) < 10 else None
            mine = table.filter(pc.equal(table["Process ID"], pid)).combine_chunks()
            for name, batch in self._rows(owner.process_id, mine, units):
                note({owner.process_id: owner}, name, batch)
                yield name, batch

    def process_rows(self) -> list[dict[str, Any]]:
        """Rows of ``process``."""
        return [process.row() for process in self._processes.values()]

    def losses(self) -> list[Loss]:
        """Rows of ``loss``: kernels have no times here."""
        return [loss for process in self._processes.values() for loss in process.losses()]

    def _read(self) -> tuple[pa.Table, dict[str, str]]:
        """All columns as texts, and the unit of each.

        Raises:
            ForeignError: there is no table of launches.
        """
        lines = self.path.read_bytes().splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith(HEAD))
        names = next(csv.reader([lines[head].decode("utf-8", "replace")]))
        kept = [line for line in lines[head:] if line.startswith(b'"') and line != lines[head]]
        if len(kept) < 2 or "Kernel Name" not in names or not kept[0].startswith(b'"",'):
            raise ForeignError(
                f"{self.path} holds no raw page with launches",
                "write it with `ncu --csv --page raw`",
            )
        text = b"\n".join([lines[head], *kept])
        try:
            table = pv.read_csv(
                io.BytesIO(text),
                convert_options=pv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
        except pa.ArrowInvalid as error:
            raise ForeignError(f"{self.path} is damaged: {error}", "write it again") from None
        units = {name: table[name][0].as_py() or "" for name in names}
        return table.slice(1), units

    def _rows(
        self, process_id: int, launches: pa.Table, units: dict[str, str]
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        rows = launches.num_rows
        # ncu counts from 0, which is no correlation id.
        number = pc.add(_numbers(launches["ID"]).cast(pa.int64()), 1)
        mangled = launches["Kernel Name"].combine_chunks()
        shape = {}
        for what, column in _SHAPES.items():
            for place, axis in enumerate("xyz"):
                pattern = r"^\D*" + r"\d+\D+" * place + rf"(?P<{axis}>\d+)"
                found = pc.extract_regex(launches[column].combine_chunks(), pattern)
                shape[f"{what}_{axis}"] = pc.struct_field(found, axis).cast(pa.int32())
        yield (
            "kernel",
            make_batch(
                "kernel",
                rows,
                {"process_id": process_id, "correlation_id": number, "name": mangled, **shape},
            ),
        )
        metrics = [name for name in launches.column_names if "__" in name]
        left = set(launches.column_names) - {*metrics, *_KEPT}
        for name in sorted(left):
            self.skipped.unsupported(name, rows, "a column of the raw page that has no place here")
        for metric in metrics:
            unit, factor = _UNITS.get(units[metric], (units[metric] or None, 1))
            if ".pct" in metric:
                unit = "%"
            value = pc.multiply(_numbers(launches[metric]), float(factor))
            reason = pc.if_else(pc.is_valid(value), None, launches[metric].combine_chunks())
            yield (
                "launch_metric",
                make_batch(
                    "launch_metric",
                    rows,
                    {
                        "process_id": process_id,
                        "range_id": number,
                        "correlation_id": number,
                        "function": mangled,
                        "metric": metric,
                        "value": value,
                        "unit": unit,
                        "missing": reason,
                        "source": "ncu",
                    },
                ),
            )


def _numbers(texts: pa.ChunkedArray) -> pa.Array:
    """Numbers without separators of thousands; NULL for what is none (``n/a``)."""
    plain = pc.replace_substring(texts.combine_chunks(), ",", "")
    good = pc.match_substring_regex(plain, _NUMBER)
    return pc.if_else(good, plain, pa.scalar(None, pa.string())).cast(pa.float64())
