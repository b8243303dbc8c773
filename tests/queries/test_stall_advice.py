"""What is advised on the reasons that warps wait for."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sampled_code import STALLED, with_code
from support.trace import H100, MakeTrace

import cupti_etl
from cupti_etl.analysis.findings import find, none


def sampled(*rows: str) -> str:
    head = "process_id function cubin_crc pc_offset samples not_issued_samples stall_reason"
    return "\n".join([head, *rows]).replace("~", STALLED)


def launched(grid: int, block: int, shared: int = 0) -> str:
    return f"""
        process_id device_id start_ns end_ns name grid_x grid_y grid_z block_x block_y block_z \
registers_per_thread static_shared_bytes dynamic_shared_bytes
        1          0         0        1000   step {grid} 1      1      {block} 1       1 \
16                   0                   {shared}
    """


def test_what_kept_schedulers_idle(trace: MakeTrace) -> None:
    """Of gemm, 20 of 100 samples were at a barrier and nothing was issued: 20 % of its 600 ns.

    add has too few samples, and of those of gemm in a fixed wait nothing kept a scheduler idle.
    """
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         1000     1600   gemm
            1          0         1600     1800   add
        """,
        pc_sample=sampled(
            "1 gemm 7 16 40 20 ~barrier", "1 gemm 7 16 60 0 ~wait", "1 add 7 16 5 5 ~barrier"
        ),
    )
    (row,) = opened.query("stall_advice")
    assert (row["name"], row["reason"], row["saved_ns"]) == ("gemm", "barrier", 120)
    assert "__syncthreads" in row["meaning"]
    assert row["guide"].startswith("https://docs.nvidia.com/cuda/")
    assert row["cause"] is None


@pytest.mark.parametrize(
    ("launch", "reason", "cause", "advice"),
    [
        (
            launched(16, 256), "long_scoreboard", "its 16 blocks fill 1.5 % of the device",
            "give it more blocks",
        ),
        (
            launched(10_000, 128, 200_000), "long_scoreboard",
            "6 % of the warps of a multiprocessor fit, limited by shared memory",
            "let more warps fit",
        ),
        (launched(10_000, 256), "long_scoreboard", None, "read neighbouring addresses"),
        (launched(16, 256), "barrier", None, "give the warps of a block alike work"),
        (
            launched(265, 1024), "selected",
            "the last wave of its 265 blocks fills 0.38 % of the device", "launch as many blocks",
        ),
        (launched(264, 1024), "selected", None, "execute fewer instructions"),
    ],
)  # fmt: skip
def test_causes_in_the_launch(
    trace: MakeTrace, launch: str, reason: str, cause: str | None, advice: str
) -> None:
    idle = 0 if reason == "selected" else 90
    opened = trace(
        device=H100, kernel=launch, pc_sample=sampled(f"1 step 7 16 100 {idle} ~{reason}")
    )
    (row,) = opened.query("stall_advice")
    assert (row["reason"], row["cause"]) == (reason, cause)
    assert row["saved_ns"] == (None if reason == "selected" else 900)
    assert row["advice"].startswith(advice)


# Kernels of costly.cu: an opcode that costs, its kind, and a reason that it can be the cause of.
COSTLY = {
    "local_memory": ("LDL", "local", "long_scoreboard", "loads and stores of local memory"),
    "atomic": ("RED", "atomic", "drain", "atomic operations"),
    "doubles": ("DFMA", "double", "mio_throttle", "instructions on doubles"),
    "constant_table": ("LDC R", "constant", "short_scoreboard", "constants at a computed index"),
    "division": ("I2F", "division", "math_pipe_throttle", "divisions of integers"),
    "shared_memory": ("STS", "shared", "mio_throttle", "loads and stores of shared memory"),
    "special": ("MUFU", "special", "short_scoreboard", "special functions"),
}
INSTRUCTION_BYTES = 16


def of_code(folder: Path, rows: list[str]) -> cupti_etl.Trace:
    kernels = "".join(f"1 0 {i * 10} {i * 10 + 10} {name}\n" for i, name in enumerate(COSTLY))
    tables = {
        "kernel": f"process_id device_id start_ns end_ns name\n{kernels}",
        "pc_sample": sampled(*rows),
    }
    return cupti_etl.open(with_code(folder, tables, "costly"))


@pytest.mark.slow
def test_causes_in_the_code(tmp_path: Path) -> None:
    """Once with a sample of each instruction, then with those of the costly one alone."""
    everywhere = [
        f"1 {function} 7 {at * INSTRUCTION_BYTES} 1 1 ~wait"
        for function in [*COSTLY, "cheap"]
        for at in range(60)
    ]
    with of_code(tmp_path / "everywhere", everywhere) as trace:
        kinds: dict[str, set[str]] = {}
        for row in trace.query("_sampled_code"):
            kinds.setdefault(row["function"], set()).add(row["code"])
        costly = {
            row["function"]: row["pc_offset"]
            for row in trace.query("instruction_stall")
            if row["instruction"] and row["function"] in COSTLY
            and row["instruction"].startswith(COSTLY[row["function"]][0])
        }  # fmt: skip
    # The reciprocal of a division of integers is one of the special functions.
    assert kinds == {name: {kind} for name, (_, kind, _, _) in COSTLY.items()} | {
        "division": {"division", "special"}
    }
    there = [
        f"1 {name} 7 {costly[name]} 100 90 ~{reason}" for name, (_, _, reason, _) in COSTLY.items()
    ]
    with of_code(tmp_path / "there", there) as trace:
        assert {row["name"]: row["cause"] for row in trace.query("stall_advice")} == {
            name: f"100 % of its samples are at {what}" for name, (_, _, _, what) in COSTLY.items()
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "samples", "said"),
    [
        ("finished", "", "capture --pc-sampling, then cupti-etl query stall_advice TRACE."),
        ("finished", "1 k 1 8 5 5 ~barrier", "inside: cupti-etl query stall_advice TRACE."),
        ("imported", "", "work of a GPU."),
    ],
)
def test_a_report_without_findings_says_how_to_look_into_kernels(
    trace: MakeTrace, state: str, samples: str, said: str
) -> None:
    opened = trace(
        process=f"process_id pid state\n 1 10 {state}",
        device="process_id device_id\n 1 0",
        kernel="process_id device_id start_ns end_ns name\n 1 0 0 100 k",
        pc_sample=sampled(samples) if samples else "",
    )
    assert find(opened) == []
    assert none(opened).endswith(said)
