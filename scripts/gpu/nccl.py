"""NCCL's own events on two GPUs or more, against the logs of the ranks that called it.

    python nccl.py --out DIR --work DIR [--ranks 2]

Writes DIR/nccl.json; exits with 1 if an operation is wrong or missing, ranks are not matched by
NCCL's numbers, or a delay is not found again.  The program is nccl_app.py.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

PROGRAM = str(Path(__file__).resolve().parent / "nccl_app.py")
SECONDS = 560
# What the measured skew may differ from the delay: both ranks leave the barrier apart, too.
TOLERANCE_US = 60.0
# How much later than its kernel a channel may end, whose time is put together of two clocks.
BEYOND_US = 20.0


def asked_and_told(folder: Path, logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Operations of each rank by function and size, as logged and as NCCL told of them."""
    trace, wrong = cupti_etl.open(folder), []
    told: dict[int, Counter[tuple[str, int]]] = {rank: Counter() for rank in range(len(logs))}
    rows = trace.sql(
        "SELECT process.rank, function, size_bytes, count(*) AS n FROM nccl_event"
        " JOIN process USING (process_id) WHERE kind <> 'channel' GROUP BY ALL"
    )
    for row in rows:
        told[row["rank"]][row["function"], row["size_bytes"]] += row["n"]
    for rank, log in enumerate(logs):
        asked = {(function, size): n for function, size, n in log["asked"]}
        differing = [key for key in asked if told[rank][key] != asked[key]]
        # PyTorch adds operations of its own, such as to set a communicator up: of other sizes.
        if differing:
            examples = [(key, asked[key], told[rank][key]) for key in differing[:4]]
            wrong.append(f"rank {rank}: asked and told differ: {examples}")
    (joined,) = trace.sql(
        "SELECT count(*) AS operations, count(kernel.event_id) AS with_kernel FROM nccl_event"
        " LEFT JOIN _nccl_kernel AS kernel USING (process_id, event_id)"
        " WHERE nccl_event.kind IN ('collective', 'p2p')"
    )
    if joined["operations"] != joined["with_kernel"]:
        wrong.append(f"operations without a kernel: {joined}")
    matches = {
        row["matched_by"]: row["n"]
        for row in trace.sql(
            "SELECT matched_by, count(*) AS n FROM _collective_match"
            " WHERE collective IN ('AllReduce', 'AllGather', 'ReduceScatter', 'Broadcast')"
            " GROUP BY ALL"
        )
    }
    if set(matches) != {"nccl"}:
        wrong.append(f"not all were matched by NCCL's numbers: {matches}")
    pairs = trace.sql("FROM nccl_p2p").count()
    sends = sum(n for log in logs for function, _, n in log["asked"] if function == "Send")
    if pairs != sends:
        wrong.append(f"{pairs} sends with their receives, not {sends}")
    losses = [row["detail"] for row in trace.sql("FROM loss")]
    if losses:
        wrong.append(f"losses: {losses}")
    return {"joined": joined, "matches": matches, "pairs": pairs, "sends": sends, "wrong": wrong}


def channels(folder: Path, logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The same with channels: each operation between ranks has some, inside of its kernel."""
    case = asked_and_told(folder, logs)
    (found,) = cupti_etl.open(folder).sql(
        "SELECT count(DISTINCT (process_id, event_id)) AS operations, count(*) AS channels,"
        " count(*) FILTER (WHERE channel.end_ns IS NULL OR channel.end_ns < channel.start_ns)"
        " AS untimed, max(channel.end_ns - kernel.end_ns) / 1e3 AS beyond_us,"
        " median(channel.end_ns - channel.start_ns) / median(kernel.end_ns - kernel.start_ns)"
        " AS share FROM _nccl_channel AS channel"
        " JOIN _nccl_kernel AS kernel USING (process_id, event_id)"
        " WHERE kernel.function NOT IN ('Send', 'Recv')"
    )
    (collectives,) = cupti_etl.open(folder).sql(
        "SELECT count(*) AS n FROM nccl_event WHERE kind = 'collective'"
    )
    if found["operations"] != collectives["n"] or found["untimed"]:
        case["wrong"].append(f"of {collectives['n']} collectives, channels: {found}")
    if found["beyond_us"] is None or found["beyond_us"] > BEYOND_US:
        case["wrong"].append(f"channels end {found['beyond_us']} us after their kernels")
    return {**case, "channels": found}


def delays(folder: Path, logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How late rank 1 was, by the times of calls and of kernels, beside its delays."""
    trace, wrong, found = cupti_etl.open(folder), [], []
    for size, delay_us in logs[1]["late"]:
        (row,) = trace.sql(
            "SELECT count(*) AS n, median(late.call_late_ns - early.call_late_ns) / 1e3 AS call_us,"
            " median(late.late_ns - early.late_ns) / 1e3 AS kernel_us,"
            " median(early.wait_ns) / 1e3 AS wait_us, median(early.transfer_ns) / 1e3 AS"
            " transfer_us, median(late.transfer_ns) / 1e3 AS late_transfer_us"
            " FROM _collective_wait AS late JOIN _collective_wait AS early USING (operation)"
            f" WHERE late.rank = 1 AND early.rank = 0 AND late.bytes = {int(size)}"
        )
        found.append({"bytes": size, "delay_us": delay_us, **row})
        for name in ("call_us", "kernel_us"):
            if row[name] is None or abs(row[name] - delay_us) > TOLERANCE_US:
                wrong.append(f"a delay of {delay_us} us is {name} {row[name]}")
    return {"delays": found, "wrong": wrong}


def run(runner: Runner, ranks: int, what: str, *options: str) -> tuple[dict[str, Any], Any, Path]:
    """The program in a capture: the case, the logs of the ranks or None, and the trace."""
    name = "-".join((what, *(option.strip("-") for option in options)))
    folder, log = runner.folder / "traces" / f"nccl-{name}", runner.folder / f"nccl-{name}"
    is_plain = options == ("plain",)
    wrap = () if is_plain else (*CUPTI_ETL, "capture", "-o", str(folder), *options, "--")
    torchrun = (PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks))
    done = runner.run([*wrap, *torchrun, PROGRAM, what, str(log)], limit=120)
    case = {"name": name, "status": done.status, "seconds": done.seconds, "wrong": []}
    paths = [Path(f"{log}.{rank}") for rank in range(ranks)]
    if done.status or not all(path.exists() for path in paths):
        case |= {"wrong": ["the program failed"], "output": done.last_lines}
        return case, None, folder
    return case, [json.loads(path.read_text()) for path in paths], folder


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    for folder in (options.out, options.work / "traces"):
        folder.mkdir(parents=True, exist_ok=True)
    runner = Runner(options.work, options.out / "nccl.log", SECONDS)
    report: dict[str, Any] = {"machine": machine(), "cases": [], "price": {}}
    of_channels = ("--nccl", "channels")
    cases: tuple[tuple[str, tuple[str, ...], Callable[..., dict[str, Any]]], ...] = (
        ("work", (), asked_and_told),
        ("work", of_channels, channels),
        ("late", (), delays),
    )
    for what, more, check in cases:
        case, logs, folder = run(runner, options.ranks, what, *more)
        if logs is not None:
            case |= check(folder, logs)
        report["cases"].append(case)
        runner.write(report)
    for more in (("plain",), ("--nccl", "none"), ("--nccl", "events"), of_channels):
        case, logs, _ = run(runner, options.ranks, "price", *more)
        rounds = [round(each, 2) for each in logs[0]["price_us"]] if logs else []
        median = statistics.median(rounds) if rounds else None
        report["price"][more[-1]] = {"median_us": median, "rounds_us": rounds}
        runner.write(report)
    sys.exit(any(case["wrong"] for case in report["cases"]))


if __name__ == "__main__":
    main()
