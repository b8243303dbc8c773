"""C programs for the native parts: plain, and under the sanitizers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.shim import NATIVE, compile_c, native_sources

HERE = Path(__file__).parent


def inject(*names: str) -> list[Path]:
    """Sources of the injector by their names."""
    return [NATIVE / "inject" / f"{name}.c" for name in names]


# Program, and the sources of the libraries that it needs.
PROGRAMS: dict[str, Sequence[Path | str]] = {
    "beside": native_sources("collector"),
    "wakeup": [*native_sources("collector"), *inject("wakeup", "descriptors", "environment")],
    "callbacks": [
        *native_sources("segment"),
        *inject("callback_arguments", "callback_events", "callback_names", "callback_slots"),
        *inject("callback_watch", "callbacks", "callbacks_inside", "environment"),
    ],
    "decode": native_sources("collector"),
    "environment": inject("environment"),
    "exports": native_sources("collector"),
    "gather": native_sources("collector"),
    "hello": [
        *native_sources("collector"),
        *inject("wakeup", "descriptors", "environment", "handshake"),
    ],
    "hostile": native_sources("collector"),
    "killed": native_sources("collector"),
    "locks": native_sources("collector"),
    "memory": [
        *native_sources("collector"),
        "-Wl,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=pool_get",
    ],
    # So few places that events are overwritten.
    "nccl": [
        *native_sources("collector"),
        *inject("environment", "nccl_plugin", "nccl_rows", "row_slot"),
        "-DIN_FLIGHT=32",
    ],
    "nesting": native_sources("collector"),
    "spans": native_sources("collector"),
    "nvtx": inject("environment", "nvtx", "nvtx_table", "range"),
    # So few that the program can have more.
    "overlap": [*native_sources("collector"), "-DFIT_GROUPS=16"],
    "pool": [*native_sources("collector"), "-Wl,--wrap=aligned_alloc"],
    "profiler_host": native_sources("collector"),
    "queue": [],
    "range_launch": inject("environment", "keys", "range_launch"),
    "ranges": [*native_sources("collector"), *inject("ranges", "open_range", "row_slot")],
    "release": native_sources("collector"),
    "ring": [],
    "sampling": native_sources("collector"),
    "segment": native_sources("segment"),
    "strings": [*native_sources("collector"), *inject("intern", "keys")],
    "operators": native_sources("collector"),
    "orders": [
        *native_sources("segment"),
        *inject("conflict", "environment", "orders", "range", "recording", "trial"),
    ],
    "switching": [
        *native_sources("segment"),
        *inject("conflict", "environment", "range", "recording", "trial"),
    ],
    "threads": native_sources("segment"),
}
# Not hello: ThreadSanitizer takes its clone() for fork(), where GCC 13's ends, and GCC 12's saw
# nothing from then on; and the mapping that it exchanges while a thread uses it, for a write.
THREADED = (
    "beside",
    "callbacks",
    "wakeup",
    "nccl",
    "orders",
    "queue",
    "ranges",
    "release",
    "sampling",
    "switching",
    "threads",
)
NOT_ALLOWED_HERE = 77
SANITIZERS = {
    "plain": [],
    # What is amiss in memory is so with fewer; what comes out is seen where they are plain.
    "address": [
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
        *("-DNAMES=100000", "-DTIMES=100"),
    ],
    "thread": ["-fsanitize=thread", "-DROUNDS=1500"],
}


def compile_and_run(
    folder: Path, program: str, sanitizer: str, *extra: str
) -> subprocess.CompletedProcess[str]:
    sources = [HERE / f"{program}.c", *PROGRAMS[program]]
    compile_c(folder / program, *SANITIZERS[sanitizer], *extra, *sources)
    return subprocess.run(
        [folder / program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
    )


# Those that take more than a second of a processor.
LONG = {"wakeup", "gather", "decode", "callbacks", "killed", "strings"}


def test_every_program_is_run() -> None:
    assert {path.stem for path in HERE.glob("*.c")} == PROGRAMS.keys()
    assert PROGRAMS.keys() >= LONG


@pytest.mark.parametrize(
    ("program", "sanitizer"),
    [
        pytest.param(program, "plain", marks=[pytest.mark.slow] if program in LONG else [])
        for program in PROGRAMS
    ]
    + [pytest.param(program, "address", marks=pytest.mark.slow) for program in PROGRAMS]
    + [pytest.param(program, "thread", marks=pytest.mark.slow) for program in THREADED],
)
def test_program(tmp_path: Path, program: str, sanitizer: str) -> None:
    done = compile_and_run(tmp_path, program, sanitizer)
    if done.returncode == NOT_ALLOWED_HERE:
        pytest.skip("no process can be single-stepped here")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("program", ["switching", "threads"])
def test_a_planted_race_is_seen(tmp_path: Path, program: str) -> None:
    done = compile_and_run(tmp_path, program, "thread", "-DPLANT_RACE")
    assert done.returncode != 0
    assert "data race" in done.stderr


@pytest.mark.slow
def test_a_planted_overflow_is_seen(tmp_path: Path) -> None:
    done = compile_and_run(tmp_path, "decode", "address", "-DPLANT_OVERFLOW")
    assert done.returncode != 0
    assert "insufficient space" in done.stderr or "heap-buffer-overflow" in done.stderr


@pytest.mark.parametrize(
    ("program", "sanitizer", "plant", "words"),
    [
        ("wakeup", "plain", "SILENCE", "end.tv_sec - begin.tv_sec"),
        ("killed", "plain", "EARLY", "records == slots"),
        pytest.param("memory", "address", "LEAK", "LeakSanitizer", marks=pytest.mark.slow),
        ("ranges", "plain", "OPEN", "open_ranges == PLANTED"),
        ("nccl", "plain", "UNENDED", "open_nccl_events == 0"),
        ("overlap", "plain", "WRONG", "runs == RUNS"),
        pytest.param("profiler_host", "address", "LEAK", "LeakSanitizer", marks=pytest.mark.slow),
        ("sampling", "plain", "LOSS", "stats->samples == got.samples"),
        ("operators", "plain", "UNORDERED", "== length"),
        ("orders", "plain", "OUTSIDE", "is_in_entry"),
    ],
)
def test_a_planted_fault_is_seen(
    tmp_path: Path, program: str, sanitizer: str, plant: str, words: str
) -> None:
    done = compile_and_run(tmp_path, program, sanitizer, f"-DPLANT_{plant}")
    if done.returncode == NOT_ALLOWED_HERE:
        pytest.skip("no process can be single-stepped here")
    assert done.returncode != 0
    assert words in done.stderr
