"""Checks of traces of nccl_app.py and nccl_train.py against the logs of their ranks.

Each takes the trace and a log for each rank, and returns what it found, with what is ``wrong``.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cupti_etl

Logs = Sequence[dict[str, Any]]
# What the skew of a trace may differ from that of the logs.
SKEW_US = 10.0
# Operations of a size before that are not judged: NCCL and PyTorch set things up.
WARM_UP = 10
# What transfer may differ by between operations with a delay and without.
TRANSFER_US = 10.0
# The share of channels that may have no times in their kernel: NCCL tells those of its last
# operations to nobody, as many as sent something to themselves.
UNTIMED_PCT = 2.0
# What a wait in a receive may differ by from how long the GPU that sends was busy before.
SEND_MS = 0.3
# Of bus bandwidths by kernels and by CUDA events.
BANDWIDTH_PCT = 5.0
# A model's collectives are larger than those with which frameworks set themselves up.
MODEL_BYTES = 4096


def told_by_rank(trace: cupti_etl.Trace, ranks: int) -> list[Counter[tuple[str, int]]]:
    """Operations of each rank, by function and size, as NCCL told of them."""
    told: list[Counter[tuple[str, int]]] = [Counter() for _ in range(ranks)]
    rows = trace.sql(
        "SELECT process.rank, function, size_bytes, count(*) AS n FROM nccl_event"
        " JOIN process USING (process_id) WHERE kind <> 'channel' GROUP BY ALL"
    )
    for row in rows:
        told[row["rank"]][row["function"], row["size_bytes"]] += row["n"]
    return told


def counted(log: dict[str, Any]) -> Counter[tuple[str, int]]:
    """What a log says was asked for."""
    return Counter({(function, size): n for function, size, n in log["asked"]})


def losses(trace: cupti_etl.Trace) -> list[str]:
    """A sentence if there are any."""
    found = [row["detail"] for row in trace.sql("FROM loss")]
    return [f"losses: {found}"] if found else []


def asked_and_told(folder: Path, logs: Logs) -> dict[str, Any]:
    """Operations by function and size, their kernels, and how ranks were matched."""
    trace, wrong = cupti_etl.open(folder), []
    told = told_by_rank(trace, len(logs))
    more: list[list[Any]] = []
    for rank, log in enumerate(logs):
        asked = counted(log)
        differing = [key for key in asked if told[rank][key] != asked[key]]
        if differing:
            examples = [(key, asked[key], told[rank][key]) for key in differing[:4]]
            wrong.append(f"rank {rank}: asked and told differ: {examples}")
        # PyTorch adds operations of its own, such as to set a communicator up: of other sizes.
        more += [[rank, *key, n] for key, n in told[rank].items() if key not in asked]
        # NCCL says nothing of what is alone in its group.
        if told_alone := [key for key in told[rank] if key[1] in log.get("alone", ())]:
            wrong.append(f"rank {rank}: operations in a group of one rank: {told_alone}")
    (joined,) = trace.sql(
        "SELECT count(*) AS operations, count(kernel.event_id) AS with_kernel,"
        " count(DISTINCT nccl_event.communicator) AS communicators,"
        " count(DISTINCT (kernel.process_id, kernel.correlation_id)) AS kernels FROM nccl_event"
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
            " AND communicator IS NOT NULL GROUP BY ALL"
        )
    }
    if set(matches) != {"nccl"}:
        wrong.append(f"not all were matched by NCCL's numbers: {matches}")
    pairs = trace.sql("FROM nccl_p2p").count()
    sends = sum(n for log in logs for function, _, n in log["asked"] if function == "Send")
    if pairs != sends:
        wrong.append(f"{pairs} sends with their receives, not {sends}")
    return {
        "joined": joined,
        "matches": matches,
        "pairs": pairs,
        "sends": sends,
        "more": more,
        "wrong": wrong + losses(trace),
    }


def channels(folder: Path, logs: Logs) -> dict[str, Any]:
    """The same with channels: each operation between ranks has some, inside of its kernel."""
    case = asked_and_told(folder, logs)
    (found,) = cupti_etl.open(folder).sql(
        "SELECT count(DISTINCT (process_id, event_id)) AS operations, count(*) AS channels,"
        " count(*) FILTER (WHERE channel.end_ns >= channel.start_ns IS NOT TRUE) AS untimed,"
        " max(channel.end_ns - kernel.end_ns) / 1e3 AS beyond_us,"
        " median(channel.end_ns - kernel.end_ns) / 1e3 AS median_beyond_us,"
        " median(channel.end_ns - channel.start_ns) / median(kernel.end_ns - kernel.start_ns)"
        " AS share FROM _nccl_channel AS channel"
        " JOIN _nccl_kernel AS kernel USING (process_id, event_id)"
        " WHERE kernel.function NOT IN ('Send', 'Recv')"
    )
    (collectives,) = cupti_etl.open(folder).sql(
        "SELECT count(*) AS n FROM nccl_event WHERE kind = 'collective'"
    )
    untimed = 100 * found["untimed"] > UNTIMED_PCT * found["channels"]
    if found["operations"] != collectives["n"] or untimed:
        case["wrong"].append(f"of {collectives['n']} collectives, channels: {found}")
    latest = cupti_etl.open(folder).sql(
        "SELECT kernel.function, kernel.size_bytes, kernel.sequence, kernel.rank, channel.channel,"
        " channel.start_ns - kernel.start_ns AS begins_ns, channel.end_ns - kernel.start_ns"
        " AS ends_ns, kernel.end_ns - kernel.start_ns AS kernel_ns, channel.gpu_start"
        " FROM _nccl_channel AS channel JOIN _nccl_kernel AS kernel USING (process_id, event_id)"
        " ORDER BY channel.end_ns - kernel.end_ns DESC LIMIT 12"
    )
    return {**case, "channels": found, "latest_channels": [*latest]}


def graphs(folder: Path, logs: Logs) -> dict[str, Any]:
    """Operations that were captured into a graph, and the kernels of its replays."""
    trace, wrong = cupti_etl.open(folder), []
    size, captured, replays = logs[0]["graph"]
    told = {
        row["rank"]: row
        for row in trace.sql(
            "SELECT process.rank, count(*) AS events,"
            " count(*) FILTER (WHERE is_graph AND call_start_ns IS NULL) AS in_graph"
            " FROM nccl_event JOIN process USING (process_id)"
            f" WHERE kind = 'collective' AND size_bytes = {int(size)} GROUP BY ALL"
        )
    }
    kernels = {
        row["rank"]: row["n"]
        for row in trace.sql(
            "SELECT process.rank, count(*) AS n FROM kernel JOIN process USING (process_id)"
            " WHERE graph_id IS NOT NULL AND contains(name, 'AllReduce') GROUP BY ALL"
        )
    }
    for rank in range(len(logs)):
        row = told.get(rank, {"events": 0, "in_graph": 0})
        # With channels NCCL tells of each replay, and not of the capture.
        if row["in_graph"] not in (captured, captured * replays):
            wrong.append(f"rank {rank}: of {captured} captured operations, {row}")
        if kernels.get(rank) != captured * replays:
            wrong.append(f"rank {rank}: {kernels.get(rank)} kernels, not {captured * replays}")
    return {"told": [*told.values()], "kernels": kernels, "wrong": wrong + losses(trace)}


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of absolute values."""
    absolute = sorted(map(abs, values))
    return {
        "median": round(statistics.median(absolute), 3),
        "p95": round(absolute[int(0.95 * (len(absolute) - 1))], 3),
        "n": len(absolute),
    }


def delays(folder: Path, logs: Logs) -> dict[str, Any]:
    """How late rank 1 was in each operation, by calls and by kernels, beside what ranks logged."""
    trace, wrong, found = cupti_etl.open(folder), [], []
    base: dict[str, float] = {}
    for first, second in zip(logs[0]["late"], logs[1]["late"], strict=True):
        rows = [
            *trace.sql(
                "SELECT (late.call_late_ns - early.call_late_ns) / 1e3 AS call_us,"
                " (late.late_ns - early.late_ns) / 1e3 AS kernel_us, early.wait_ns / 1e3 AS"
                " wait_us, least(early.transfer_ns, late.transfer_ns) / 1e3 AS transfer_us"
                " FROM _collective_wait AS late JOIN _collective_wait AS early USING (operation)"
                " WHERE late.rank = 1 AND early.rank = 0"
                f" AND late.bytes = {int(first['bytes'])} ORDER BY late.start_ns"
            )
        ]
        true = [(b - a) / 1e3 for a, b in zip(first["called_ns"], second["called_ns"], strict=True)]
        delay = first["delay_us"]
        case: dict[str, Any] = {"delay_us": delay, "bytes": first["bytes"], "operations": len(rows)}
        found.append(case)
        if len(rows) != len(true):
            wrong.append(f"delay {delay} us: {len(rows)} operations, not {len(true)}")
            continue
        if any(value is None for row in rows for value in row.values()):
            wrong.append(f"delay {delay} us: not all times are known")
            continue
        skip = WARM_UP if len(rows) > 2 * WARM_UP else 0
        rows, true = rows[skip:], true[skip:]
        case["true_us"] = round(statistics.median(true), 3)
        for name in ("call_us", "kernel_us", "wait_us", "transfer_us"):
            case[name] = round(statistics.median(row[name] for row in rows), 3)
        if not delay:
            base = {name: value for name, value in case.items() if name.endswith("_us")}
        # A rank comes some microseconds later than it was asked to.
        came = round(case["true_us"] - base.get("true_us", 0), 3)
        if abs(came - delay) > SKEW_US:
            wrong.append(f"a delay of {delay} us was one of {came} by the logs")
        for name in ("call_us", "kernel_us"):
            off = spread([row[name] - skew for row, skew in zip(rows, true, strict=True)])
            case[f"{name[:-3]}_off_us"] = off
            # A launch takes its own time, so of kernels only the median is judged.
            if name == "call_us" and off["median"] > SKEW_US:
                wrong.append(f"delay {delay} us: {name} is {off['median']} us off the logs")
            case[f"{name[:-3]}_recovered_us"] = back = round(case[name] - base.get(name, 0), 3)
            if abs(back - came) > SKEW_US:
                wrong.append(f"a delay of {came} us is recovered as {back} by {name}")
        if abs(case["transfer_us"] - base.get("transfer_us", case["transfer_us"])) > TRANSFER_US:
            wrong.append(f"delay {delay} us: transfer takes {case['transfer_us']} us")
    return {"delays": found, **straggler(trace, wrong), "wrong": wrong + losses(trace)}


def straggler(trace: cupti_etl.Trace, wrong: list[str]) -> dict[str, Any]:
    """Who makes the others wait: rank 1 and no other."""
    waits = [*trace.query("collective_wait")]
    if not waits or waits[0]["rank"] != 1:
        wrong.append("collective_wait does not name rank 1 first")
    stragglers = [*trace.query("rank_stragglers")]
    if [row["rank"] for row in stragglers if row["is_persistent"]] != [1]:
        wrong.append("rank_stragglers does not name rank 1 alone")
    return {"collective_wait": waits, "rank_stragglers": stragglers}


def sends(folder: Path, logs: Logs) -> dict[str, Any]:
    """Rank 1 waits in receives for as long as the GPU of rank 0 is busy, which does not wait."""
    trace, wrong = cupti_etl.open(folder), []
    rows = [
        *trace.sql(
            "SELECT process.rank, last_rank, wait_ns / 1e6 AS ms FROM _send_wait"
            " JOIN process USING (process_id) ORDER BY _send_wait.start_ns"
        )
    ]
    # What they waited for in the first, when the connection was made, is not known.
    true = logs[0]["sends"]
    waits = [row["ms"] for row in rows if (row["rank"], row["last_rank"]) == (1, 0)][-len(true) :]
    off = [got - ms for got, ms in zip(waits, true, strict=False)]
    if len(waits) != len(true) or max(map(abs, off)) > SEND_MS:
        wrong.append(f"{len(waits)} of {len(true)} waits, which differ by {off} ms")
    if others := [row for row in rows if row["rank"] != 1 and row["ms"] > SEND_MS]:
        wrong.append(f"who sends waits: {others}")
    return {"true_ms": true, "off_ms": off, "wrong": wrong + losses(trace)}


def bandwidth(folder: Path, logs: Logs) -> dict[str, Any]:
    """Bus bandwidth of large all-reduces, from kernels and from CUDA events."""
    trace, wrong, ranks = cupti_etl.open(folder), [], len(logs)
    size = logs[0]["large"][0]
    # Ranks begin apart only in the first.
    median_ms = min(statistics.median(log["large"][1][1:]) for log in logs)
    by_events = size / median_ms / 1e6 * 2 * (ranks - 1) / ranks
    rows = [row for row in trace.query("collective_bandwidth") if row["bytes"] == size]
    if len(rows) != 1:
        wrong.append(f"{len(rows)} rows of operations of {size} bytes")
        return {"wrong": wrong}
    off = 100 * abs(rows[0]["bus_gbps"] / by_events - 1)
    if off > BANDWIDTH_PCT:
        wrong.append(f"bus bandwidths differ by {off:.1f} %")
    found = {"bus_gbps": round(by_events, 2), "off_pct": round(off, 2), "row": rows[0]}
    return {"bandwidth": found, "wrong": wrong + losses(trace)}


def model(folder: Path, logs: Logs, profiled: Logs) -> dict[str, Any]:
    """Collectives of a model: counted by the program, by torch.profiler, and told by NCCL."""
    trace, wrong, cases = cupti_etl.open(folder), [], []
    for rank, each in enumerate(told_by_rank(trace, len(logs))):
        told = Counter({key: n for key, n in each.items() if key[1] >= MODEL_BYTES})
        cases.append([[*key, n] for key, n in sorted(told.items())])
        for who, log in (("the program", logs[rank]), ("torch.profiler", profiled[rank])):
            asked = counted(log)
            # Broadcasts set DDP up, of which the program itself knows nothing.
            keys = {key for key in told | asked if key[0] != "Broadcast" or who != "the program"}
            differing = [key for key in keys if key[1] >= MODEL_BYTES and told[key] != asked[key]]
            if differing or not asked:
                examples = [(*key, asked[key], told[key]) for key in sorted(differing)[:6]]
                wrong.append(f"rank {rank}: {who} and NCCL differ: {examples}")
    return {"told": cases, "wrong": wrong + losses(trace)}
