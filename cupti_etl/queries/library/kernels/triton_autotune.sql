-- Executions by which Triton and Inductor tried out configurations of kernels, apart from others.
--
-- computed: By Python stacks, where launches have them: those made in a function of Triton's or
--   Inductor's that benchmarks (source python, confidence 1), without those that make its inputs.
--   Else by what their do_bench does (source pattern, 0.8): it clears the L2 cache before a run, by
--   a memset of 16 MiB or more or a kernel that fills, and copies back what the last run wrote
--   over. Executions of one kernel and configuration (threads, registers, shared memory, blocks) in
--   a stream with nothing but that between them are tries, up to the last after clearing, if it was
--   cleared 5 times or more and the kernel has tries of 2 configurations or more.
-- requires: kernel, _tuning_process
-- none: no configurations of a kernel were tried out, as far as stacks and cleared caches tell.
-- limits: A tuner that does not clear the cache (in CUDA graphs, or of another library) is seen in
--   stacks alone. A loop of a program's own that clears a buffer around few kernels looks alike.
-- front: How long did Triton's autotuning take, and for which kernels?
-- first: span_ns, tuning_ns, configurations, tries, clearing_ns, other_runs, other_ns,
--   confidence, short
-- chart: bars(short, tuning_ns)
-- alias: autotune, autotuning, do_bench
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   short VARCHAR: Function name of the kernel.
--   source VARCHAR: python or pattern.
--   confidence DOUBLE: How sure it is that these were tries, from 0 to 1.
--   configurations BIGINT [configurations]: That were tried.
--   tries BIGINT [executions]: Executions that tried one.
--   tuning_ns BIGINT [ns]: Sum of their durations, and of clearing the cache and copying back.
--   clearing_ns BIGINT [ns]: Of these, of clearing and copying.
--   span_ns BIGINT [ns]: From the first try to the last, with what is compiled in between; without
--     times in which another kernel ran.
--   start_ns BIGINT [epoch ns]: When the first began.
--   end_ns BIGINT [epoch ns]: When the last ended.
--   other_runs BIGINT [executions]: Executions of the kernel that tried nothing.
--   other_ns BIGINT [ns]: Sum of their durations.
WITH stacked AS (
    SELECT process_id, correlation_id,
           bool_or((process_id, stack_id) IN (
               SELECT (process_id, stack_id) FROM _benchmarking_stack
           )) AS is_try
    FROM launch_stack
    WHERE stack_id IS NOT NULL
    GROUP BY process_id, correlation_id
),
-- Numbers stand for names and configurations, as rows of texts take several times as long.
shapes AS (
    SELECT process_id, correlation_id, start_ns, device_id, hash(name) AS name_id,
           hash(block_x, block_y, block_z, registers_per_thread, static_shared_bytes,
                dynamic_shared_bytes, grid_x, grid_y, grid_z) AS configuration
    FROM kernel
    WHERE name IS NOT NULL
),
work AS (
    SELECT act.process_id, gpu, stream_id, act.start_ns, act.end_ns, hash(act.name) AS name_id,
           configuration, stacked.is_try,
           coalesce(
               kind = 'memset' AND bytes >= 16777216
                   OR kind = 'kernel' AND contains(act.name, 'FillFunctor'), false
           ) AS is_clearing,
           is_clearing OR kind = 'memcpy' AND act.name = 'DtoD' AS is_preparing
    FROM gpu_interval AS act
    SEMI JOIN _tuning_process AS tuning ON tuning.process_id = act.process_id
    LEFT JOIN shapes
        ON kind = 'kernel' AND shapes.process_id = act.process_id
        AND shapes.correlation_id = act.correlation_id AND shapes.start_ns = act.start_ns
        AND shapes.device_id = act.device_id AND shapes.name_id = hash(act.name)
    LEFT JOIN stacked
        ON stacked.process_id = act.process_id AND stacked.correlation_id = act.correlation_id
),
-- What was prepared up to then; what the program itself fills is known by its stack.
ordered AS (
    SELECT *, sum(is_clearing::INTEGER) OVER line AS clearings,
           sum(CASE WHEN is_preparing AND coalesce(is_try, true) THEN end_ns - start_ns ELSE 0 END)
               OVER line AS prepared_ns
    FROM work
    WINDOW line AS (
        PARTITION BY process_id, gpu, stream_id ORDER BY start_ns, end_ns, name_id
        ROWS UNBOUNDED PRECEDING
    )
),
marked AS (
    SELECT *, clearings > coalesce(lag(clearings) OVER line, 0) AS is_cleared,
           prepared_ns - coalesce(lag(prepared_ns) OVER line, 0) AS clearing_ns,
           name_id IS DISTINCT FROM lag(name_id) OVER line
               OR configuration IS DISTINCT FROM lag(configuration) OVER line AS is_other
    FROM ordered
    WHERE NOT is_preparing
    WINDOW line AS (PARTITION BY process_id, gpu, stream_id ORDER BY start_ns, end_ns, name_id)
),
grouped AS (
    SELECT * EXCLUDE (clearings, prepared_ns, is_preparing, is_clearing),
           sum(is_other::INTEGER) OVER (
               PARTITION BY process_id, gpu, stream_id ORDER BY start_ns, end_ns, name_id
               ROWS UNBOUNDED PRECEDING
           ) AS stretch
    FROM marked
),
-- What runs after the last clearing may be the program's own.
stretches AS (
    SELECT process_id, gpu, stream_id, stretch, any_value(name_id) AS name_id,
           any_value(configuration) AS configuration,
           max(start_ns) FILTER (WHERE is_cleared) AS last_ns
    FROM grouped
    WHERE configuration IS NOT NULL
    GROUP BY process_id, gpu, stream_id, stretch
    HAVING count(*) FILTER (WHERE is_cleared) >= 5
),
tried AS (
    SELECT process_id, gpu, name_id
    FROM stretches
    GROUP BY process_id, gpu, name_id
    HAVING count(DISTINCT configuration) >= 2
),
told AS (
    SELECT runs.process_id, runs.gpu, runs.name_id, runs.configuration, start_ns, end_ns,
           clearing_ns, is_try IS NOT NULL AS is_stacked,
           coalesce(is_try, start_ns <= last_ns AND tried.name_id IS NOT NULL, false) AS is_tuning
    FROM grouped AS runs
    LEFT JOIN stretches
        ON stretches.process_id = runs.process_id AND stretches.gpu = runs.gpu
        AND stretches.stream_id IS NOT DISTINCT FROM runs.stream_id
        AND stretches.stretch = runs.stretch
    LEFT JOIN tried
        ON tried.process_id = runs.process_id AND tried.gpu = runs.gpu
        AND tried.name_id = runs.name_id
    WHERE runs.configuration IS NOT NULL
        AND (EXISTS (FROM tried) OR EXISTS (FROM stacked WHERE is_try))
),
-- With the time since the execution before it, if that tried the same kernel.
turns AS (
    SELECT *,
           end_ns - CASE WHEN name_id IS DISTINCT FROM lag(name_id) OVER line
                             OR is_tuning IS DISTINCT FROM lag(is_tuning) OVER line
                         THEN start_ns ELSE lag(end_ns) OVER line END AS turn_ns
    FROM told
    WINDOW line AS (PARTITION BY process_id, gpu ORDER BY start_ns, end_ns, name_id)
),
names AS (
    SELECT hash(name) AS name_id, any_value(name) AS name
    FROM kernel
    WHERE EXISTS (FROM told)
    GROUP BY name_id
),
sums AS (
    SELECT process_id, gpu, coalesce(short, name) AS short,
           bool_and(is_stacked) FILTER (WHERE is_tuning) AS is_stacked,
           count(DISTINCT configuration) FILTER (WHERE is_tuning) AS configurations,
           count(*) FILTER (WHERE is_tuning) AS tries,
           sum(end_ns - start_ns) FILTER (WHERE is_tuning) AS tries_ns,
           coalesce(sum(clearing_ns) FILTER (WHERE is_tuning), 0) AS clearing_ns,
           sum(turn_ns) FILTER (WHERE is_tuning) AS span_ns,
           min(start_ns) FILTER (WHERE is_tuning) AS start_ns,
           max(end_ns) FILTER (WHERE is_tuning) AS end_ns,
           count(*) FILTER (WHERE NOT is_tuning) AS other_runs,
           coalesce(sum(end_ns - start_ns) FILTER (WHERE NOT is_tuning), 0) AS other_ns
    FROM turns
    JOIN names ON names.name_id = turns.name_id
    LEFT JOIN _readable_name AS shorts ON shorts.mangled = names.name
    GROUP BY process_id, gpu, coalesce(short, name)
)
SELECT process_id, gpu, short, CASE WHEN is_stacked THEN 'python' ELSE 'pattern' END AS source,
       CASE WHEN is_stacked THEN 1.0::DOUBLE ELSE 0.8 END AS confidence, configurations, tries,
       TRY_CAST(tries_ns + clearing_ns AS BIGINT) AS tuning_ns,
       TRY_CAST(clearing_ns AS BIGINT) AS clearing_ns, TRY_CAST(span_ns AS BIGINT) AS span_ns,
       start_ns, end_ns, other_runs,
       TRY_CAST(other_ns AS BIGINT) AS other_ns
FROM sums
WHERE tries > 0
ORDER BY tuning_ns DESC, short, gpu, process_id
