"""``cupti-etl capture``: run a program and write down what its GPUs did."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from cupti_etl.commands._complete import files, tables
from cupti_etl.commands._convert import convert
from cupti_etl.commands._fsync import fsync_option
from cupti_etl.commands._index import index_apart
from cupti_etl.commands._overwrite import overwrite_option
from cupti_etl.commands._pm import chosen, pm_options
from cupti_etl.commands._renamed import RenamedOption
from cupti_etl.config import (
    API_LEVELS,
    CONFLICT_POLICIES,
    GRAPH_LEVELS,
    PYTORCH_PARTS,
    RECORD_FORMS,
    CaptureOptions,
)
from cupti_etl.errors import UsageError
from cupti_etl.units import duration_ns, size_bytes


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--out",
    help="Where to: a folder; FILE.duckdb; or with --table FILE.arrows or - for standard output."
    " Must not exist without --overwrite. %h is the host, %p the process id, %r the rank."
    "  [default: trace-DATE-TIME]",
)
@click.option(
    "--table",
    default="",
    shell_complete=tables,
    help="Write this table alone, as a stream of Arrow.",
)
@click.option(
    "--kinds",
    default="",
    shell_complete=tables,
    help="Tables to record, comma-separated, or a preset: light, default, full.",
)
@click.option(
    "--graph",
    type=click.Choice(GRAPH_LEVELS),
    default="node",
    show_default=True,
    help="Record the nodes of CUDA graphs, or each launch of a graph as a whole (cheaper).",
)
@click.option(
    "--api",
    type=click.Choice(API_LEVELS),
    default="default",
    show_default=True,
    help="API calls to record.",
)
@click.option(
    "--records",
    type=click.Choice(RECORD_FORMS),
    default="auto",
    show_default=True,
    help="Form of CUPTI's records: whole structs, or selected fields (CUPTI 13.4 or later).",
)
@click.option(
    "--on-conflict",
    type=click.Choice(CONFLICT_POLICIES),
    default="yield",
    show_default=True,
    help="If another CUPTI client comes: leave it the records, take them back, or end the program.",
)
@click.option(
    "--flush-ms",
    type=click.IntRange(1, 60000),
    default=100,
    show_default=True,
    help="CUPTI flush interval.",
)
@click.option(
    "--buffer-mb",
    cls=RenamedOption,
    was="--ring-mb",
    type=click.IntRange(32, 4096),
    default=256,
    show_default=True,
    help="Shared memory per process, at most.",
)
@click.option(
    "--cupti",
    type=click.Path(path_type=Path),
    help="libcupti to use where the program has none loaded.",
)
@click.option(
    "--save-raw",
    cls=RenamedOption,
    was="--record",
    type=click.Path(path_type=Path),
    help="Also keep the raw buffers in this file, to be imported again.",
)
@click.option(
    "--delay", default="0", metavar="TIME", help="Start recording so long after the program."
)
@click.option("--duration", default="0", metavar="TIME", help="Stop recording after so long.")
@click.option(
    "--python-stacks",
    is_flag=False,
    flag_value="launches",
    default="",
    metavar="[=CALLS]",
    help="Keep the Python stack of each launch; =copies: of copies too; =all: also of allocations"
    " and waits.",
)
@click.option(
    "--callbacks",
    default="",
    metavar="DOMAIN[:NAME,...]",
    help="Keep CUPTI's callbacks as callback_event: of driver, runtime, resource, synchronize, nvtx"
    " or state, all or those named, such as driver:cuLaunch*,cuMemcpy*.",
)
@click.option(
    "--pytorch",
    is_flag=False,
    flag_value="ops,modules,shapes",
    default="",
    metavar="[=PARTS]",
    help="Record PyTorch's operators, modules and sizes of inputs as ranges; =ops, =modules,"
    " =ops,modules ...: only these.",
)
@click.option(
    "--capture-range",
    default="",
    metavar="RANGE",
    help="Record only inside a range: cudaProfilerApi or nvtx:NAME[@DOMAIN].",
)
@click.option("--max-rows", type=click.IntRange(1), help="Stop recording at about so many rows.")
@click.option("--max-size", metavar="SIZE", help="Stop recording when the trace is about so large.")
@pm_options(default=None)
@click.option(
    "--pm-required", is_flag=True, help="Fail where the counters cannot be sampled to the end."
)
@click.option(
    "--linger",
    metavar="TIME",
    help="How long to follow processes that outlive CMD; default: until they end.",
)
@click.option(
    "--allow-uid",
    default="",
    metavar="USER,...",
    help="Trace processes of these users too, by number or name, and not only your own.",
)
@overwrite_option
@fsync_option
@click.option("--index", is_flag=True, help="Run `cupti-etl index` on the trace in the end.")
@click.option("--no-argv", is_flag=True, help="Do not store command lines.")
@click.option("--quiet", is_flag=True, help="No live line and no summary.")
# How ``cupti_etl.capture()`` starts the collector of its own process.
@click.option("--inside", type=int, hidden=True)
@click.argument(
    "cmd",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="-- CMD [ARG]...",
    shell_complete=files,
)
def command(
    out: str | None,
    table: str,
    kinds: str,
    graph: str,
    api: str,
    records: str,
    on_conflict: str,
    flush_ms: int,
    buffer_mb: int,
    cupti: Path | None,
    save_raw: Path | None,
    delay: str,
    duration: str,
    python_stacks: str,
    callbacks: str,
    pytorch: str,
    capture_range: str,
    max_rows: int | None,
    max_size: str | None,
    pm: str | None,
    pm_interval: str,
    pm_devices: str,
    pm_required: bool,
    linger: str | None,
    allow_uid: str,
    overwrite: bool,
    fsync: bool,
    index: bool,
    no_argv: bool,
    quiet: bool,
    inside: int | None,
    cmd: tuple[str, ...],
) -> None:
    """Run CMD and write what its GPUs did to a trace.

    \b
    cupti-etl capture -o run42 -- python train.py
    cupti-etl sql run42 "FROM kernel_summary"
    cupti-etl capture --table kernel -o - -- python train.py | ./reader
    cupti-etl capture --pm --pm-interval 50us -o run43 -- python train.py

    Exit status: that of CMD if it is not 0; else 0 if it was captured, 3 if it never
    initialised CUDA, 4 if it did but could not be captured, 1 if the trace could not be
    written, 2 for a usage error.
    """
    from cupti_etl.capture.session import run
    from cupti_etl.schema.callbacks import parse_callbacks
    from cupti_etl.storage.destination import kinds_of
    from cupti_etl.storage.name import expand

    parts = check_pytorch(pytorch)
    asked = kinds or kinds_of(table)
    options = CaptureOptions(
        out=Path(expand(out, os.environ) if out else time.strftime("trace-%Y%m%d-%H%M%S")),
        kinds=choose_kinds(f"{asked or 'default'},marker,marker_data" if parts else asked, graph),
        table=table,
        api=api,
        graph=graph,
        records=records,
        on_conflict=on_conflict,
        flush_ms=flush_ms,
        ring_mb=buffer_mb,
        cupti=cupti,
        record=save_raw,
        delay_ns=duration_ns(delay),
        duration_ns=duration_ns(duration),
        python_stacks=check_stacks(python_stacks),
        callbacks=parse_callbacks(callbacks) if callbacks else {},
        pytorch=parts,
        capture_range=check_range(capture_range),
        max_rows=max_rows or 0,
        max_bytes=size_bytes(max_size) if max_size else 0,
        pm=chosen(pm, pm_interval, pm_devices, is_required=pm_required),
        linger_ns=None if linger is None else duration_ns(linger),
        allow_uids=choose_users(allow_uid),
        overwrite=overwrite,
        fsync=fsync,
        argv=not no_argv,
        quiet=quiet,
        inside=inside,
    )
    status = run(options, cmd, convert)
    if index and options.out.is_dir():
        index_apart(options.out)
    sys.exit(status)


def check_stacks(text: str) -> str:
    """The value of ``--python-stacks``.

    Raises:
        UsageError: it is none.
    """
    from cupti_etl.schema.api_levels import STACKS

    if text and text not in STACKS:
        raise UsageError(
            f"--python-stacks {text!r} names no calls",
            f"give --python-stacks alone or with ={', ='.join(STACKS)}",
        )
    return text


def check_pytorch(text: str) -> tuple[str, ...]:
    """The value of ``--pytorch``; sizes of inputs are those of operators.

    Raises:
        UsageError: a part is none.
    """
    words = {word.strip() for word in text.split(",")} - {""}
    unknown = sorted(words - set(PYTORCH_PARTS))
    if unknown:
        raise UsageError(
            f"--pytorch has no part {unknown[0]!r}",
            f"give --pytorch alone or with = and some of {', '.join(PYTORCH_PARTS)}",
        )
    if "shapes" in words:
        words.add("ops")
    return tuple(part for part in PYTORCH_PARTS if part in words)


def check_range(text: str) -> str:
    """The value of ``--capture-range``.

    Raises:
        UsageError: it is none.
    """
    name, at, domain = text.removeprefix("nvtx:").rpartition("@")
    if text in ("", "cudaProfilerApi"):
        return text
    if text.startswith("nvtx:") and (domain if not at else name and domain):
        return text
    raise UsageError(
        f"--capture-range {text!r} is not a range", "give cudaProfilerApi or nvtx:NAME[@DOMAIN]"
    )


def choose_users(text: str) -> tuple[int, ...]:
    """The value of ``--allow-uid``.

    Raises:
        UsageError: a name is nobody's.
    """
    import pwd

    users = set()
    for word in filter(None, (part.strip() for part in text.split(","))):
        try:
            users.add(int(word) if word.isdecimal() else pwd.getpwnam(word).pw_uid)
        except KeyError:
            raise UsageError(
                f"there is no user {word!r}", "--allow-uid takes numbers and names of users"
            ) from None
    return tuple(sorted(users))


# Activity kinds that CUPTI has and no table can honestly hold.
_REFUSED = {
    "nvlink": "its record was laid out anew in CUPTI 13.2, with pointers to memory of the program",
    "module": "CUPTI lets no client enable it",
}


def choose_kinds(text: str, graph: str = "node") -> tuple[str, ...]:
    """Table names for ``--kinds`` and ``--graph``.

    Raises:
        UsageError: a name is neither a table nor a preset, or is of a kind that is refused
            or goes only with ``--graph graph``.
    """
    from cupti_etl.schema.kinds import KINDS
    from cupti_etl.schema.spec import PRESETS

    preset_of = {kind.table: kind.preset for kind in KINDS}
    chosen = {table for table, preset in preset_of.items() if preset == graph}
    for word in text.split(","):
        name = word.strip() or "default"
        if name in PRESETS:
            included = PRESETS[: PRESETS.index(name) + 1]
            chosen.update(table for table, preset in preset_of.items() if preset in included)
        elif name in _REFUSED:
            raise UsageError(f"the kind {name!r} cannot be recorded: {_REFUSED[name]}")
        elif name not in preset_of:
            raise UsageError(
                f"there is no kind {name!r}",
                f"kinds are {', '.join(preset_of)}; presets are {', '.join(PRESETS)}",
            )
        elif preset_of[name] == "graph" != graph:
            raise UsageError(
                f"the kind {name!r} takes the place of the kernels and copies of CUDA graphs",
                "add --graph graph if that is what you want",
            )
        else:
            chosen.add(name)
    return tuple(sorted(chosen))
