"""``cupti-etl demo``: a first trace, with a GPU or without one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._writing import out_option, overwrite_option
from cupti_etl.doctor.ask import gpus
from cupti_etl.errors import CaptureError, RecordingError
from cupti_etl.progress import say
from cupti_etl.render.table import View

if TYPE_CHECKING:
    from cupti_etl.api import Result, Trace

RECORDING = Path(__file__).parents[1] / "demo" / "h200.etlrec"

_LOSSES = "SELECT cause, table_name, records, is_stored, detail FROM loss"
_ORIGIN = """\
SELECT DISTINCT d.name, d.device_uuid, p.cupti_version, p.cupti_path, p.driver_version
FROM process AS p JOIN device AS d USING (process_id)
SEMI JOIN kernel USING (process_id, device_id)"""


@click.command("demo")
@out_option(
    "Folder for the trace; replaced if an earlier demo made it.",
    default="demo-trace",
    show_default=True,
)
@overwrite_option
def command(out: Path, overwrite: bool) -> None:
    """Make a first trace and show what is in it.

    With a GPU, this captures a small CUDA program, compares the trace with what the program
    launched, and fails if they differ. Without a GPU, it replays a recording made on an H200, on
    the same path as a live capture.
    """
    from cupti_etl.demo.folder import make_room

    make_room(out, overwrite=overwrite)
    devices, why = gpus(os.environ)
    if devices:
        click.echo(f"Capturing a small CUDA program on {devices[0]['name']}, {devices[0]['uuid']}.")
        _live(out)
    else:
        click.echo(f"No GPU can be used here ({why}).")
        _replay(out)


def _live(out: Path) -> None:
    import cupti_etl
    from cupti_etl.demo.live import capture_workload, compare

    launched = capture_workload(out)
    with cupti_etl.open(out) as trace:
        differences = compare(trace, launched)
        if not differences:
            click.echo("Every launch, copy and set of the program is in the trace, and no other.")
        _show(trace, out, "Captured on")
        if differences:
            for difference in differences[:10]:
                say(difference)
            raise CaptureError(
                f"the trace differs from what the program launched in {len(differences)} points",
                "this is a fault of cupti-etl or of CUPTI: please report it with the trace",
            )


def _replay(out: Path) -> None:
    import subprocess
    import sys

    import cupti_etl
    from cupti_etl.demo.folder import mark
    from cupti_etl.native.loader import load

    if not RECORDING.exists():
        raise RecordingError(
            f"the recording {RECORDING.name} is not part of this installation",
            "install a released wheel of cupti-etl, or run the demo on a machine with a GPU",
        )
    load()  # says what is missing
    click.echo(f"Replaying a recording made on an H200: {RECORDING}")
    command = [sys.executable, "-m", "cupti_etl", "import", str(RECORDING), "-o", str(out)]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        mark(out, None)
    if done.returncode != 0:
        what, _, todo = done.stderr.strip().removeprefix("cupti-etl: ").partition("\n  ")
        raise RecordingError(f"the recording cannot be replayed: {what}", todo)
    with cupti_etl.open(out) as trace:
        _show(trace, out, "Recorded on")


def _show(trace: Trace, out: Path, verb: str) -> None:
    from cupti_etl.doctor.driver import cuda_text
    from cupti_etl.native.cupti_search import version_text

    for row in trace.sql(_ORIGIN):
        click.echo(f"{verb} {row['name']}, {row['device_uuid']}")
        click.echo(
            f"  CUPTI {version_text(row['cupti_version'])} ({row['cupti_path']}), "
            f"driver for CUDA {cuda_text(row['driver_version'])}"
        )
    _table("Kernels", trace.query("kernel_summary"))
    _table("Copies", trace.query("memcpy_summary"))
    losses = trace.sql(_LOSSES)
    if losses.count():
        _table("Losses", losses)
    else:
        click.echo("\nLosses: none")
    click.echo(f"\nTrace: {out.resolve()}")
    click.echo(f'  cupti-etl sql {out} "FROM kernel_summary"')


def _table(title: str, rows: Result) -> None:
    from cupti_etl.render.text import show

    click.echo(f"\n{title}")
    show(rows, View(limit=15), quietly=True)
