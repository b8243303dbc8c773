"""A trace of torch.profiler with stacks: functions of Python and operators around launches."""

from __future__ import annotations

from benchmarks.queries import BEGIN, PROCESS, SMALL, STEP

# Ranges around a launch, one in the other, of which the inner ones are operators.
RANGES, OPERATORS = 20, 4
_PYTHON = RANGES - OPERATORS
_MARKER_ID = f"i * {RANGES} + j + 1"
_IS_OPERATOR = f"j >= {_PYTHON}"
_TORCH_NAMES = "['aten::linear', 'aten::addmm', 'aten::copy_', 'aten::mul']"


def small(rows: int) -> dict[str, str]:
    """SELECTs of the small tables, and of those of ranges."""
    each = f"range({rows}) AS a(i), range({RANGES}) AS b(j)"
    return SMALL | {
        "capture": SMALL["capture"] + ", 'import of kineto' AS source",
        "marker": f"""
            SELECT {PROCESS} AS process_id, 100 + i % 4 // 2 AS thread_id,
                   {_MARKER_ID} AS marker_id, 'thread' AS object_kind,
                   {BEGIN} - 9000 + CASE e WHEN 0 THEN j * 10 - 250
                                           ELSE 510 + ({RANGES - 1} - j) * 10 END AS timestamp_ns,
                   CASE e WHEN 0 THEN 'start' ELSE 'end' END AS event,
                   CASE WHEN e = 1 THEN NULL
                        WHEN {_IS_OPERATOR} THEN ({_TORCH_NAMES})[j - {_PYTHON} + 1]
                        WHEN j % 4 = 0 THEN 'nn.Module: Block_' || i % 12
                        ELSE 'model_' || j || '.py(' || i % 50 || '): forward' END AS name,
                   CASE WHEN e = 1 THEN NULL WHEN {_IS_OPERATOR} THEN 'cpu_op'
                        ELSE 'python_function' END AS domain
            FROM {each}, range(2) AS c(e)
            UNION ALL
            SELECT 4611686018427387 * p, 100 + p - 1, {rows * RANGES} + step + 1, 'thread',
                   1763668800000000000 + (step + e) * {STEP} * 1000 - 9260,
                   CASE e WHEN 0 THEN 'start' ELSE 'end' END,
                   CASE e WHEN 0 THEN 'ProfilerStep#' || step END,
                   CASE e WHEN 0 THEN 'user_annotation' END
            FROM range(1, 3) AS a(p), range({rows // STEP}) AS b(step), range(2) AS c(e)
            ORDER BY timestamp_ns""",
        "marker_data": f"""
            SELECT {PROCESS} AS process_id, {_MARKER_ID} AS marker_id, 'int64' AS payload_kind,
                   {_MARKER_ID} AS payload, false AS has_color
            FROM {each}
            WHERE {_IS_OPERATOR}""",
        "argument": f"""
            SELECT {PROCESS} AS process_id, {_MARKER_ID} AS marker_id,
                   CASE WHEN {_IS_OPERATOR}
                        THEN '{{"Input Dims":[[' || i % 7 || ', 64], [64, 64]],'
                            || '"Input type":["float", "float"],"Concrete Inputs":["", ""]}}'
                        ELSE '{{"Python id":' || j || '}}' END AS arguments
            FROM {each}""",
        "external_correlation": f"""
            SELECT {PROCESS} AS process_id, i AS correlation_id, 'unknown' AS external_kind,
                   (i + 1) * {RANGES} AS external_id
            FROM range({rows}) AS a(i)""",
    }
