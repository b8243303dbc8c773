-- The slowest runs of each kernel, or of one, with what was around them: why were they slow?
--
-- computed: Of each name and launch shape the executions that took longest; of those that took as
--   long the earliest, and of those that began at once that of the lowest rank, host and pid. The
--   activity before is the last that began earlier in the stream; the range is the innermost around
--   the launching call, on its thread. The clock is that of the PM sample in which the run began
--   (its lag taken off), or else of the last reading in environment before it.
-- requires: kernel
-- limits: Names and shapes with fewer than min_calls executions are left out. Clocks are recorded
--   on demand (capture --pm, or --kinds environment); a reading can be old.
-- front: Which executions of a kernel were slow, and what was around them?
-- first: duration_ns, ratio, start_ns, previous_name, range, median_ns, name
-- label: name = kernel(demangled, grid, block)
-- example: cupti-etl query kernel_worst TRACE --param runs=1
-- lookup: gpu_interval, api_call, nvtx_range, pm_sample, environment
-- parameters:
--   named VARCHAR = NULL: Function name of a kernel, or its mangled name; NULL for all.
--   runs BIGINT = 5 [executions]: How many of each.
--   min_calls BIGINT = 20 [executions]: Fewest executions of a name and shape.
-- columns:
--   name VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   place BIGINT: 1 for the slowest of the name and shape, and so on.
--   duration_ns BIGINT [ns]: How long it took.
--   median_ns DOUBLE [ns]: Median of the name and shape.
--   ratio DOUBLE: duration_ns divided by median_ns.
--   gpu BIGINT: Number of the GPU, as in gpu; NULL if no device record is known.
--   process_id BIGINT: Its process.
--   context_id INTEGER: Its context.
--   stream_id INTEGER: Its stream.
--   correlation_id BIGINT: The call that launched it.
--   start_ns BIGINT [epoch ns]: When it began.
--   previous_kind VARCHAR: Kind of the activity before it in its stream; NULL if none ended in the
--     millisecond before.
--   previous_name VARCHAR: Its function name, or the direction of a copy.
--   since_previous_ns BIGINT [ns]: From its end to the start of the run; below 0 if they overlap.
--   range VARCHAR: Path of the NVTX range; NULL outside ranges.
--   sm_clock_mhz DOUBLE [MHz]: Clock of the multiprocessors at that time; NULL if not known.
--   demangled VARCHAR: Name with template and call arguments.
WITH shapes AS (
    SELECT name, grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
           block_x || 'x' || block_y || 'x' || block_z AS block,
           count(*) AS calls, median(end_ns - start_ns) AS median_ns,
           -- The least of numbers is the greatest of their complements.
           arg_max({'process_id': process_id, 'device_id': device_id, 'context_id': context_id,
                    'stream_id': stream_id, 'correlation_id': correlation_id,
                    'start_ns': start_ns, 'end_ns': end_ns},
                   (end_ns - start_ns, ~start_ns, ~place, ~correlation_id, ~device_id,
                    ~context_id, ~stream_id, process_id), runs) AS worst
    FROM kernel
    LEFT JOIN (SELECT process_id, place FROM _export_process) USING (process_id)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
        AND (named IS NULL OR name = named
             OR name IN (SELECT mangled FROM _readable_name WHERE short = named))
    GROUP BY name, grid_x, grid_y, grid_z, block_x, block_y, block_z
),
worst AS MATERIALIZED (
    SELECT row_number() OVER () AS run, shape.* EXCLUDE (one), one.*, gpu.gpu, gpu.device_uuid
    FROM (
        SELECT name, grid, block, median_ns, unnest(worst) AS one,
               generate_subscripts(worst, 1) AS place
        FROM shapes
        WHERE calls >= min_calls
    ) AS shape
    LEFT JOIN gpu ON gpu.process_id = one.process_id AND gpu.device_id = one.device_id
),
-- Equal buckets of 1.05 ms can be joined fast, which a range of times cannot.
buckets AS (
    SELECT *, unnest([start_ns >> 20, (start_ns >> 20) - 1, (start_ns >> 20) + 1]) AS bucket
    FROM worst
),
before AS (
    SELECT run, max({'start_ns': act.start_ns, 'kind': act.kind, 'name': act.name,
                     'end_ns': act.end_ns}) AS act
    FROM buckets
    JOIN gpu_interval AS act
        ON act.process_id = buckets.process_id
        AND act.device_id IS NOT DISTINCT FROM buckets.device_id
        AND act.context_id IS NOT DISTINCT FROM buckets.context_id
        AND act.stream_id IS NOT DISTINCT FROM buckets.stream_id
        AND act.end_ns >> 20 = buckets.bucket
        AND act.end_ns BETWEEN buckets.start_ns - 1000000 AND buckets.start_ns + 1000000
        AND act.start_ns < buckets.start_ns
    GROUP BY run
),
calls AS (
    SELECT run, worst.process_id, arg_max(call.thread_id, call.start_ns) AS thread_id,
           max(call.start_ns) AS at_ns
    FROM worst
    JOIN api_call AS call
        ON call.process_id = worst.process_id
        AND call.correlation_id = worst.correlation_id
        AND call.start_ns <= worst.start_ns
    GROUP BY run, worst.process_id
),
ranges AS (
    SELECT run, path
    FROM calls
    ASOF JOIN _range_served AS innermost
        ON innermost.process_id = calls.process_id
        AND innermost.thread_id = calls.thread_id
        AND innermost.at_ns <= calls.at_ns
    JOIN nvtx_range ON nvtx_range.range_id = innermost.range_id
),
-- A capture chooses the columns of pm_sample: this one is there, if only as NULL.
samples AS (
    SELECT pm_alignment.device_uuid, start_ns - lag_ns AS start_ns, end_ns - lag_ns AS end_ns,
           gpc_clock_hz / 1e6 AS clock_mhz
    FROM (SELECT NULL::DOUBLE AS gpc_clock_hz WHERE false UNION ALL BY NAME FROM pm_sample)
    JOIN pm_alignment USING (device_uuid)
    WHERE gpc_clock_hz IS NOT NULL
),
sampled AS (
    SELECT worst.run, CASE WHEN worst.start_ns < samples.end_ns THEN clock_mhz END AS clock_mhz
    FROM worst
    ASOF JOIN samples
        ON samples.device_uuid = worst.device_uuid
        AND samples.start_ns <= worst.start_ns
),
readings AS (
    SELECT gpu.gpu, timestamp_ns, sm_clock_mhz
    FROM environment
    JOIN gpu ON gpu.process_id = environment.process_id AND gpu.device_id = environment.device_id
    WHERE sm_clock_mhz IS NOT NULL
),
read AS (
    SELECT worst.run, readings.sm_clock_mhz
    FROM worst
    ASOF JOIN readings ON readings.gpu = worst.gpu AND readings.timestamp_ns <= worst.start_ns
)
SELECT coalesce(names.short, worst.name) AS name, grid, block, place,
       end_ns - start_ns AS duration_ns, median_ns,
       (end_ns - start_ns) / nullif(median_ns, 0) AS ratio, gpu, process_id, context_id,
       stream_id, correlation_id, start_ns,
       before.act.kind AS previous_kind, coalesce(others.short, before.act.name) AS previous_name,
       start_ns - before.act.end_ns AS since_previous_ns, ranges.path AS range,
       coalesce(sampled.clock_mhz, read.sm_clock_mhz) AS sm_clock_mhz,
       coalesce(names.demangled, worst.name) AS demangled
FROM worst
LEFT JOIN before ON before.run = worst.run
LEFT JOIN ranges ON ranges.run = worst.run
LEFT JOIN sampled ON sampled.run = worst.run
LEFT JOIN read ON read.run = worst.run
LEFT JOIN _readable_name AS names ON names.mangled = worst.name
LEFT JOIN _readable_name AS others ON others.mangled = before.act.name
ORDER BY max(end_ns - start_ns - median_ns) OVER (PARTITION BY worst.name, grid, block) DESC,
         worst.name, grid, block, place
