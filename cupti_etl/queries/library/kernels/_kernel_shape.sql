-- How long the executions of each kernel took, by launch shape, and the longest of each.
--
-- computed: Percentiles of the duration of finished executions by name and launch shape, so that
--   different sizes are not mixed. They still are of kernels that have one shape for all sizes, as
--   many blocks as the device can hold: if a tenth takes more than twice the median, that is taken
--   for other work, and none of it as slow.
-- materialized: Made once for an opened trace, as percentiles want all durations in order.
-- columns:
--   name VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   calls BIGINT [executions]: Finished executions.
--   p50_ns DOUBLE [ns]: Median duration.
--   p90_ns DOUBLE [ns]: 90th percentile.
--   p99_ns DOUBLE [ns]: 99th percentile.
--   p999_ns DOUBLE [ns]: 99.9th percentile.
--   mad_ns DOUBLE [ns]: Median absolute deviation.
--   max_ns BIGINT [ns]: Longest duration.
--   slow_gpus BIGINT[]: Numbers of the GPUs with runs of more than twice the median, as in gpu;
--     NULL if none had such, or a tenth of all is so long.
--   lost_ns BIGINT[] [ns]: Time beyond the median in them, on each of slow_gpus.
--   worst_start_ns BIGINT [epoch ns]: When the longest began.
--   worst_stream_id INTEGER: Its stream.
--   worst_correlation_id BIGINT: The call that launched it.
--   previous_name VARCHAR: Function name of the kernel before it in its stream; NULL if none ended
--     in the millisecond before.
--   process_id BIGINT: Process of the longest.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   demangled VARCHAR: Name with template and call arguments.
--   mangled VARCHAR: Mangled name.
WITH shapes AS MATERIALIZED (
    SELECT row_number() OVER () AS shape,
           name, grid_x, grid_y, grid_z, block_x, block_y, block_z, count(*) AS calls,
           quantile_cont(end_ns - start_ns, [0.5, 0.9, 0.99, 0.999]) AS tail, tail[1] AS p50_ns,
           mad(end_ns - start_ns) AS mad_ns, max(end_ns - start_ns) AS max_ns,
           arg_max({'start_ns': start_ns, 'stream_id': stream_id, 'context_id': context_id,
                    'device_id': device_id, 'process_id': process_id,
                    'correlation_id': correlation_id},
                   (end_ns - start_ns, -start_ns, process_id, correlation_id)) AS worst
    FROM kernel
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY name, grid_x, grid_y, grid_z, block_x, block_y, block_z
),
beyond AS (
    SELECT shape, gpu, TRY_CAST(sum(end_ns - start_ns - p50_ns) AS BIGINT) AS lost_ns
    FROM kernel
    JOIN shapes
        ON shapes.name = kernel.name
        AND shapes.grid_x IS NOT DISTINCT FROM kernel.grid_x
        AND shapes.grid_y IS NOT DISTINCT FROM kernel.grid_y
        AND shapes.grid_z IS NOT DISTINCT FROM kernel.grid_z
        AND shapes.block_x IS NOT DISTINCT FROM kernel.block_x
        AND shapes.block_y IS NOT DISTINCT FROM kernel.block_y
        AND shapes.block_z IS NOT DISTINCT FROM kernel.block_z
    LEFT JOIN gpu ON gpu.process_id = kernel.process_id AND gpu.device_id = kernel.device_id
    WHERE end_ns - start_ns > 2 * p50_ns AND tail[2] <= 2 * p50_ns
    GROUP BY shape, gpu
),
lost AS (
    SELECT shape, list(gpu ORDER BY gpu) AS slow_gpus, list(lost_ns ORDER BY gpu) AS lost_ns
    FROM beyond
    GROUP BY shape
),
-- Equal buckets of 1.05 ms can be joined fast, which a range of times cannot.
worsts AS (
    SELECT shape, worst, unnest([worst.start_ns >> 20, (worst.start_ns >> 20) - 1,
                                (worst.start_ns >> 20) + 1]) AS bucket
    FROM shapes
),
before AS (
    SELECT shape, arg_max(kernel.name, (kernel.start_ns, kernel.name)) AS previous
    FROM worsts
    JOIN kernel
        ON kernel.process_id = worst.process_id
        AND kernel.device_id IS NOT DISTINCT FROM worst.device_id
        AND kernel.context_id IS NOT DISTINCT FROM worst.context_id
        AND kernel.stream_id IS NOT DISTINCT FROM worst.stream_id
        AND kernel.end_ns >> 20 = bucket
        AND kernel.end_ns BETWEEN worst.start_ns - 1000000 AND worst.start_ns + 1000000
        AND kernel.start_ns < worst.start_ns
    GROUP BY shape
)
SELECT coalesce(names.short, shapes.name) AS name,
       shapes.grid_x || 'x' || shapes.grid_y || 'x' || shapes.grid_z AS grid, calls, p50_ns,
       tail[2] AS p90_ns, tail[3] AS p99_ns, tail[4] AS p999_ns, mad_ns, max_ns,
       slow_gpus, lost_ns, worst.start_ns AS worst_start_ns,
       worst.stream_id AS worst_stream_id, worst.correlation_id AS worst_correlation_id,
       coalesce(others.short, before.previous) AS previous_name, worst.process_id AS process_id,
       shapes.block_x || 'x' || shapes.block_y || 'x' || shapes.block_z AS block,
       coalesce(names.demangled, shapes.name) AS demangled, shapes.name AS mangled
FROM shapes
LEFT JOIN lost ON lost.shape = shapes.shape
LEFT JOIN before ON before.shape = shapes.shape
LEFT JOIN _readable_name AS names ON names.mangled = shapes.name
LEFT JOIN _readable_name AS others ON others.mangled = before.previous
