"""Writes docs/benchmarks.md from docs/measurements/bench-*.json: `python -m benchmarks.page`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import bucket, fleet
from benchmarks.figures import CALLS, FIGURES, QUERIES, TITLES, WHAT

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measurements"
PAGE = ROOT / "docs" / "benchmarks.md"


def _met(value: float, bound: str) -> str:
    if not bound:
        return ""
    sign, limit = bound.split()
    met = value <= float(limit) if sign == "<=" else value >= float(limit)
    return "yes" if met else "**no**"


def _number(value: Any) -> str:
    return f"{value:,.10g}" if isinstance(value, (int, float)) else "—"


def _most_memory(figures: dict[str, Any]) -> int:
    return max(int(value) for key, value in figures.items() if key.endswith("peak_mib"))


def _query_rows(figures: dict[str, Any], most_s: float, most_mib: float) -> Iterator[str]:
    """A line of the table for each query; what takes more than it may is bold."""
    yield "| query | rows | " + " | ".join(CALLS.values()) + " |"
    yield "| --- | ---: |" + " ---: |" * len(CALLS)
    for key in figures:
        if not key.endswith("_first_s"):
            continue
        name = key.removesuffix("_first_s")
        cells = [name, _number(figures[f"{name}_rows"])]
        for end in CALLS:
            value = figures.get(f"{name}{end}")
            most = {"_peak_mib": most_mib, "_first_cpu_s": math.inf}.get(end, most_s)
            is_over = value is not None and value > most
            cells.append(f"**{_number(value)}**" if is_over else _number(value))
        yield f"| {' | '.join(cells)} |"


def _operator_rows(figures: dict[str, Any]) -> Iterator[str]:
    """A line for each query that a native operator computes: that, and its SQL."""
    yield "| query | s of CPU | by SQL | times | s | by SQL | MiB | by SQL |"
    yield "| --- |" + " ---: |" * 7
    for key, cpu in figures.items():
        name = key.removesuffix("_first_cpu_s")
        if name == key or name.endswith("_sql") or f"{name}_sql_first_s" not in figures:
            continue
        cells = [name, _number(cpu), _number(figures[f"{name}_sql_first_cpu_s"])]
        cells.append(f"{figures[f'{name}_sql_first_cpu_s'] / cpu:.1f}")
        for end in ("_first_s", "_peak_mib"):
            cells += [_number(figures[f"{name}{way}{end}"]) for way in ("", "_sql")]
        yield f"| {' | '.join(cells)} |"


def _figure_rows(figures: dict[str, Any], wanted: list[tuple[str, str, str]]) -> Iterator[str]:
    yield "| | figure | wanted | met |"
    yield "| --- | ---: | ---: | --- |"
    for key, what, bound in wanted:
        value = figures.get(key)
        met = _met(value, bound) if value is not None else ""
        yield f"| {what} | {_number(value)} | {bound} | {met} |"


def _section(path: Path) -> list[str]:
    one = json.loads(path.read_text())
    machine, figures = one["machine"], one["figures"]
    name = path.stem.removeprefix("bench-")
    group = "operators" if name.startswith("operators") else one["benchmark"]
    about = TITLES.get(name, TITLES[group])
    lines = [f"## {name}", "", about, ""]
    if name in QUERIES:
        most_s, most_mib = QUERIES[name]
        lines += [
            f"{figures['rows']:,} kernels; at most {most_s} s and {most_mib:,} MiB are wanted, what"
            f" takes more is bold. Memory at its peak: {_most_memory(figures):,} MiB.",
            "",
            *_query_rows(figures, most_s, most_mib),
        ]
    elif one["benchmark"] == "fleet":
        each = figures["kernels_per_rank"]
        lines += [f"{each:,} kernels a rank, engine `{figures['engine']}`.", ""]
        lines += [*fleet.table(figures), "", *_figure_rows(figures, FIGURES["fleet"])]
    elif one["benchmark"] == "bucket":
        each = figures["kernels_per_rank"]
        lines += [
            f"{figures['ranks']} hosts with {each:,} kernels each, {figures['mib']:g} MiB.",
            "",
        ]
        lines += bucket.table(figures)
    elif name.startswith("operators"):
        lines += [f"{figures['rows']:,} kernels.", "", *_operator_rows(figures)]
    else:
        lines += _figure_rows(figures, FIGURES.get(name) or FIGURES[one["benchmark"]])
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines += [
        "",
        f"`{one['command']}`, {one['began']}; {machine['cpu']}, {machine['cores']} cores, "
        f"load {machine['load_1min']}, Linux {machine['kernel']}, Python {machine['python']}, "
        f"{packages}.",
        "",
    ]
    if one.get("note"):
        lines += [one["note"], ""]
    return lines


def _overhead(one: dict[str, Any]) -> list[str]:
    """What tracing adds, on a GPU."""
    machine = one["machine"]
    lines = ["## overhead on a GPU", ""]
    lines += [
        "What each adds to the plain program: the median of the differences within rounds, and "
        "its 95 % interval. `bare client` asks CUPTI for the same records and throws them away "
        "(`scripts/gpu/bare_client.c`), so what a capture adds to that is ours; `newer` is CUPTI "
        "13.5 instead of PyTorch's 13.0.",
        "",
    ]
    for name, report in one["overhead"].items():
        what, unit = WHAT[name]
        plain = report["median"]["plain"]
        lines += [f"### {what}", "", f"Plain: {plain:,.4g} {unit}; {report['rounds']} rounds.", ""]
        lines += [f"| | {unit} added | 95 % | of plain |", "| --- | ---: | ---: | ---: |"]
        for variant, added in report["added"].items():
            low, high = added["interval_95"]
            share = f"{added['median'] / plain:.1%}"
            lines.append(f"| {variant} | {added['median']:,g} | {low:,g} to {high:,g} | {share} |")
        lines.append("")
        lines += [f"Not run: {failure}\n" for failure in report["failures"][:1]]
        lines += [f"From {report['of']}.\n"] if "of" in report else []
    gpus = ", ".join(gpu["name"] for gpu in machine["gpus"])
    lines += [
        "",
        "`scripts/gpu_acceptance.sh --only overhead overhead_torch --rounds 8`, "
        f"{one['began']}; {gpus}, driver {machine['driver']}.",
    ]
    return lines


def page() -> str:
    """The page's text."""
    lines = [
        "<!-- Made by `python -m benchmarks.page` from measurements/bench-*.json. -->",
        "# Benchmarks",
        "",
        "What `python -m benchmarks NAME --json` printed, next to what is wanted; each on the "
        "machine that it names, on two of its cores (`taskset -c 0,1` where it has more). Where "
        "the load is above 2, others worked there too. Compare figures of one run; between "
        "machines, the ratios.",
        "",
    ]
    for path in sorted(MEASURED.glob("bench-*.json")):
        lines += _section(path)
    on_a_gpu = MEASURED / "h200-overhead.json"
    if on_a_gpu.exists():
        lines += _overhead(json.loads(on_a_gpu.read_text()))
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
