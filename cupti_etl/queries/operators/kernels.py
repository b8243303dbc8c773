"""Operators over kernels one after another."""

from __future__ import annotations

from cupti_etl.queries.operators.definition import NativeOperator, known, numbered

_PLACES = ("first", "second", "third", "fourth", "fifth")

RUN = NativeOperator(
    name="run",
    along="start_ns",
    counted=("kernel",),
    reads=("kernel",),
    named="kernel",
    inputs=(
        # Of AMD's GPUs, contexts are not known.
        f"SELECT start_ns, end_ns, {known('process_id')},"
        f" (hash(device_id, context_id) >> 1)::BIGINT, {known('stream_id')}, {numbered()}"
        " FROM kernel"
        " WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL AND name IS NOT NULL",
    ),
    outputs={
        "_derived_run": f"kernels {' '.join(f'{place}_id' for place in _PLACES)}"
        " count total_ns gap_ns"
    },
    queries={
        "_kernel_run": "SELECT kernels, "
        + ", ".join(f"{place}.name AS {place}" for place in _PLACES)
        + ", count, total_ns, gap_ns FROM _derived_run "
        + " ".join(
            f"LEFT JOIN _derived_run_name AS {place}"
            f" ON {place}.id = {place}_id AND kernels >= {number}"
            for number, place in enumerate(_PLACES, 1)
        )
    },
)

TREND = NativeOperator(
    name="trend",
    along="start_ns",
    counted=("kernel",),
    reads=("_gpu_run", "kernel"),
    named="kernel",
    inputs=(f"SELECT start_ns, end_ns, gpu, {numbered()} FROM _gpu_run WHERE kind = 'kernel'",),
    outputs={
        "_derived_trend": "gpu id calls period_ns:DOUBLE left:DOUBLE median_ns:DOUBLE"
        " slope:DOUBLE warm_ns:DOUBLE variance:DOUBLE total_ns change_at change_start_ns"
        " change_sum_ns change:DOUBLE"
    },
    queries={
        "_kernel_trend": """
            SELECT gpu, name AS mangled, calls,
                   CASE WHEN calls > 1 THEN period_ns END AS period_ns,
                   sqrt("left") AS jitter_ns, median_ns,
                   CASE WHEN calls > 1 THEN
                       100.0 * slope * (calls - 1) / nullif(total_ns / calls, 0)
                   END AS drift_pct,
                   warm_ns / nullif(median_ns, 0) AS warm_up_ratio, change_start_ns,
                   (change_sum_ns / change_at)::DOUBLE AS before_ns,
                   ((total_ns - change_sum_ns) / nullif(calls - change_at, 0))::DOUBLE AS after_ns,
                   change / nullif(sqrt(variance) * sqrt(calls), 0) AS change_strength, total_ns
            FROM _derived_trend
            LEFT JOIN _derived_trend_name ON _derived_trend_name.id = _derived_trend.id"""
    },
)

_SIZES = tuple(f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz")
_SHAPE = f"(hash(coalesce(number, hash(name)), {', '.join(_SIZES)}) >> 1)::BIGINT"

SAMPLE = NativeOperator(
    name="sample",
    along="start_ns",
    counted=("kernel",),
    reads=("kernel", "kernel_name"),
    before={
        "_demangled": """
            SELECT mangled, coalesce(any_value(demangled), mangled) AS demangled,
                   coalesce(any_value(short), mangled) AS short,
                   hash(coalesce(any_value(demangled), mangled)) AS number
            FROM kernel_name
            GROUP BY mangled""",
    },
    kept={
        "_derived_shape": f"""
            SELECT id, any_value(coalesce(demangled, name)) AS name,
                   any_value(coalesce(short, name)) AS short,
                   any_value(grid_x || 'x' || grid_y || 'x' || grid_z) AS grid,
                   any_value(block_x || 'x' || block_y || 'x' || block_z) AS block
            FROM (
                SELECT {_SHAPE} AS id, demangled, short, name, {", ".join(_SIZES)}
                FROM (SELECT DISTINCT name, {", ".join(_SIZES)} FROM kernel)
                LEFT JOIN _demangled ON mangled = name
            )
            GROUP BY id"""
    },
    inputs=(
        f"SELECT start_ns, end_ns, {_SHAPE} FROM kernel LEFT JOIN _demangled ON mangled = name"
        " WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL",
    ),
    outputs={"_derived_sample": "id part:TINYINT duration_ns count"},
    queries={
        "_kernel_sample": "SELECT name, short, grid, block, part::BIGINT AS part, duration_ns,"
        " count FROM _derived_sample JOIN _derived_shape USING (id)"
    },
)

OPERATORS = (RUN, TREND, SAMPLE)
