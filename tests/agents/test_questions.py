"""Questions with known answers, asked as the descriptions of the tools say.

What is expected is what torch.profiler's files, the recorded program and plain SQL over the parts
say; see tests/data/README.md.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from agents.conftest import Ask

# Question, traces, tool, its words, and what is in the answer: patterns of regular expressions.
QUESTIONS: list[tuple[str, str, str, dict[str, Any], list[str]]] = [
    ("What ran?", "demo", "trace_overview", {}, [r"pid 2927 on h200", r"NVIDIA H200"]),
    ("Was anything lost?", "demo", "trace_overview", {}, [r"Capture: complete\."]),
    ("What should I do first?", "demo", "findings", {"limit": 1}, [r"launch bound.*CUDA graph"]),
    ("Is it launch bound?", "demo", "run_query", {"name": "launch_bound"},
     [r"launch bound \| 64\.3 % \| 127 ms", r"steps 1-10 of 0-10, after the warm-up"]),
    ("How busy is the GPU, warm-up included?", "demo", "run_query", {"name": "gpu_busy"},
     [r"0\.2 % \| 14\.4 ms"]),
    ("How busy is it after the warm-up?", "demo", "run_query",
     {"name": "busy_breakdown", "scope": {"steps": "steady"}}, [r"6\.4 %.*93\.5 %"]),
    ("Why is it idle?", "demo", "run_query", {"name": "idle_summary"}, [r"host \| 5\.58 s"]),
    ("Where is the longest gap?", "demo", "run_query",
     {"name": "gpu_gaps", "parameters": {"min_ns": 1_000_000_000}}, [r"\+372\.716 ms.*4\.41 s"]),
    ("Which step is the slowest?", "demo", "run_query",
     {"name": "step_summary", "sort": "duration_ns:desc", "limit": 1}, [r"\| 0 \| 1\.08 s"]),
    ("How many launches has a step?", "demo", "run_query",
     {"name": "step_summary", "scope": {"steps": "5"}}, [r"\| 539 \|"]),
    ("Which kernel takes the most time?", "demo", "run_query",
     {"name": "kernel_summary", "limit": 1}, [r"4\.9 % \| 681 us \| 11 .*adaptivemaxpool"]),
    ("What is the second page of kernels?", "demo", "run_query",
     {"name": "kernel_summary", "limit": 1, "offset": 1}, [r"reduce_kernel", r"offset=2"]),
    ("Which kernel is it in the backward pass?", "demo", "run_query",
     {"name": "kernel_summary", "scope": {"range": "backward"}, "limit": 1},
     [r"Part of the trace: in backward", r"544 us \| 55 .*reduce_kernel"]),
    ("What kind of work is it?", "demo", "run_query", {"name": "kernel_category", "limit": 1},
     [r"elementwise \| 29\.0 %"]),
    ("How much was copied to the GPU?", "demo", "run_query", {"name": "memcpy_summary"},
     [r"4\.14 MiB \| 11 .*HtoD pinned"]),
    ("Which CUDA call costs the most?", "demo", "run_query", {"name": "api_summary", "limit": 1},
     [r"187 ms \| 5,417 .*cudaLaunchKernel"]),
    ("How often is memory allocated?", "demo", "run_sql",
     {"statement": "SELECT count(*) AS calls FROM api_call WHERE name = 'cudaMalloc'"},
     [r"\| 23 \|"]),
    ("How large is the largest grid?", "demo", "run_sql",
     {"statement": "SELECT max(grid_x) AS largest FROM kernel"}, [r"\| 1,156 \|"]),
    ("Does it leak?", "demo", "run_query", {"name": "memory_leaks"},
     [r"No rows\.", r"no allocations were recorded"]),
    ("How close to the roof are the kernels?", "demo", "run_query", {"name": "kernel_roofline"},
     [r"No rows\.", r"no PM samples were recorded"]),
    ("What does nvtx say of the parts?", "demo", "run_query", {"name": "nvtx_projection"},
     [r"6\.96 ms \| 6\.96 ms \| 11 .*backward"]),
    ("Which layers are there in the report?", "demo", "report", {"title": "without rows"},
     [r"Which layers: no range is named like a layer"]),
    ("What does the report say of copies?", "demo", "report", {"title": "copies"},
     [r"## Copies", r"HtoD"]),
    ("What is gap_ns?", "demo", "describe", {"name": "gpu_gaps"},
     [r"gap_ns +BIGINT \[ns\]  Length", r"min_ns"]),
    ("Which queries are about NCCL?", "demo", "list_queries", {"about": "communication"},
     [r"collective_bandwidth", r"How fast is communication"]),
    ("Which operator takes the GPU time?", "bert", "run_query",
     {"name": "operator_summary", "limit": 1}, [r"198 us .*aten::addmm"]),
    ("Which module does?", "bert", "run_query", {"name": "module_summary", "limit": 2},
     [r"83\.2 % .*BertModel_0"]),
    ("Which line of my code is it?", "bert", "run_query", {"name": "python_line"},
     [r"No rows\.", r"--python-stacks"]),
    ("How much communication is exposed?", "rank0 rank1", "run_query",
     {"name": "collective_bandwidth"}, [r"AllToAll \| 1 .*86\.0 %"]),
    ("Did it get slower?", "rank0 rank1", "compare", {"limit": 1},
     [r"cannot tell", r"fewer than 5 steps"]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("traces", "tool", "words", "answers"),
    [pytest.param(*rest, id=question) for question, *rest in QUESTIONS],
)
def test_question(
    tools: Ask, traces: str, tool: str, words: dict[str, Any], answers: list[str]
) -> None:
    said = getattr(tools(*traces.split()), tool)(**words)
    for answer in answers:
        assert re.search(answer, said), said
    assert len(said) < 10_000


def test_there_are_thirty() -> None:
    assert len(QUESTIONS) == 30
