"""``cupti-etl runs``: the runs below a folder, and how they changed."""

from __future__ import annotations

import click

from cupti_etl.commands._complete import files
from cupti_etl.errors import TraceError
from cupti_etl.progress import Line, say
from cupti_etl.render.help import Command
from cupti_etl.render.output import Output, output_options
from cupti_etl.units import counted


@click.command("runs", cls=Command)
@click.argument("folder", default=".", shell_complete=files)
@click.option(
    "--kernels", is_flag=True, help="Show the kernels, and how long they took from run to run."
)
@output_options
def command(folder: str, kernels: bool, output: Output) -> None:
    """List the runs in FOLDER, and how their steps changed.

    \b
      cupti-etl runs /shared/traces
      cupti-etl runs s3://traces --where "tags->>'model' = 'llama'"
      cupti-etl runs /shared/traces --kernels --where "command LIKE '%train.py%'"

    All traces below FOLDER, by default the current one, are listed, oldest first. A step's
    change is from the run of the same command before it. What is known of a trace is kept in
    FOLDER/runs.parquet, so that only new ones are opened.
    """
    from dataclasses import replace

    from cupti_etl.render.narrow import Narrowing, narrow
    from cupti_etl.render.output import write
    from cupti_etl.runs import answers
    from cupti_etl.runs.catalogue import NAME, catalogue
    from cupti_etl.storage.bucket import as_path

    path = as_path(folder)
    line = Line()

    def told(done: int, of: int, name: str) -> None:
        text = f"cupti-etl: reading {name}, {done + 1} of {of}"
        line.show(text) if line.is_on else say(text)

    try:
        rows, why_not = catalogue(path, told)
    finally:
        line.clear()
    if why_not:
        say(f"cupti-etl: {path / NAME} cannot be written: {why_not}")
    if not rows.num_rows:
        raise TraceError(
            f"there is no trace below {path}",
            "give the folder below which capture or import wrote traces",
        )
    # --where says which runs; --sort and --limit are of what is shown.
    chosen = narrow(answers.runs(rows), Narrowing(output.rows.where))
    names = {name for batch in chosen.reader() for name in batch.column("run").to_pylist()}
    if kernels:
        mask = [name in names for name in rows["run"].to_pylist()]
        shown = replace(output, rows=replace(output.rows, where=""))
        write(answers.kernels(rows.filter(mask)), shown)
    else:
        write(answers.runs(rows), output)
        # The column may have no room, and a run without numbers makes people ask why.
        for problem in filter(None, rows["problem"].to_pylist()):
            say(f"cupti-etl: {problem}")
    if not names:
        say(f"cupti-etl: --where leaves none of {counted(rows.num_rows, 'run')}.")
