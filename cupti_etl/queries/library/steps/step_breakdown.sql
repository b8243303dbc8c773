-- Where the time of each step went on its GPU, and which steps are out of line.
--
-- computed: As busy_breakdown, between the bounds of a step: the four parts add to duration_ns.
--   The score is (duration - median) / (1.4826 * median absolute deviation) over the steps of a
--   process and GPU; above 3.5, and more than 5 % over the median, it is an outlier. The last step
--   from NVTX is not judged: it lasts until all its work is done, others until the next begins.
-- requires: gpu_activity, step
-- materialized: Made once for an opened trace, as it goes through all intervals.
-- limits: All work on the GPU counts, also that of other processes. What the host does before the
--   first activity of a step, such as to wait for its input, is idle time of the step before on the
--   GPU; host_duration_ns has it in its own.
-- front: Where did the time of each step go?
-- first: step, duration_ns, compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns,
--   busy_pct, is_outlier, gpu, name
-- chart: lines(step, duration_ns)
-- scope: start_ns
-- shared: kernel_name, _kernel_told
-- columns:
--   process_id, gpu of step
--   step BIGINT: Number of the step, from 0.
--   name VARCHAR: Name of the NVTX range, or of the kernel that it begins with.
--   source VARCHAR: nvtx or kernels.
--   confidence DOUBLE: As in step: 1 for ranges, less for a guess from kernels.
--   start_ns BIGINT [epoch ns]: When it began on the GPU.
--   duration_ns BIGINT [ns]: How long it took there.
--   host_duration_ns BIGINT [ns]: How long the host asked for it, until it began with the next or
--     the range ended; NULL if that is not known.
--   compute_ns BIGINT [ns]: Time with a kernel that is not communication.
--   exposed_communication_ns BIGINT [ns]: Time with communication and no compute.
--   exposed_copy_ns BIGINT [ns]: Time with a copy or memset, and neither of these.
--   idle_ns BIGINT [ns]: Time with nothing.
--   busy_pct DOUBLE [%]: Time with anything as a share of duration_ns.
--   score DOUBLE: How far the duration is from the median; NULL if all are alike.
--   is_outlier BOOLEAN: Whether the step took much longer than the others.
WITH steps AS MATERIALIZED (
    -- Once: for plain DuckDB every mention of a view is all of its text.
    FROM step
),
edges AS (
    SELECT process_id, gpu, step, unnest([start_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM steps
),
pieces AS (
    SELECT process_id, edges.gpu, step, sets.work,
           sign * (busy_before_ns + least(at_ns, busy.end_ns) - busy.start_ns) AS ns
    FROM edges
    CROSS JOIN (VALUES ('any', 7), ('compute_or_communication', 3), ('compute', 1))
        AS sets(work, bits)
    ASOF LEFT JOIN _busy_interval AS busy
        ON busy.gpu = edges.gpu
        AND busy.work_bits = sets.bits
        AND busy.start_ns <= edges.at_ns
),
parts AS (
    SELECT process_id, gpu, step,
           TRY_CAST(coalesce(sum(ns) FILTER (WHERE work = 'any'), 0) AS BIGINT) AS any_ns,
           TRY_CAST(coalesce(sum(ns) FILTER (WHERE work = 'compute_or_communication'), 0) AS BIGINT)
               AS gpu_work_ns,
           TRY_CAST(coalesce(sum(ns) FILTER (WHERE work = 'compute'), 0) AS BIGINT) AS compute_ns
    FROM pieces
    GROUP BY process_id, gpu, step
),
scored AS (
    SELECT *, end_ns - start_ns AS duration_ns,
           source = 'nvtx' AND step = max(step) OVER loop AS is_open,
           median(end_ns - start_ns) OVER loop AS median_ns,
           mad(end_ns - start_ns) OVER loop AS mad_ns
    FROM steps
    WINDOW loop AS (PARTITION BY process_id, gpu)
)
SELECT scored.process_id, scored.gpu, scored.step, name, source, confidence,
       start_ns, duration_ns,
       -- A guessed step whose call was not recorded begins with the next: how long it took the host
       -- is not known.
       CASE WHEN source = 'nvtx' OR host_end_ns > host_start_ns
            THEN host_end_ns - host_start_ns END AS host_duration_ns,
       compute_ns,
       gpu_work_ns - compute_ns AS exposed_communication_ns,
       any_ns - gpu_work_ns AS exposed_copy_ns, duration_ns - any_ns AS idle_ns,
       100.0 * any_ns / nullif(duration_ns, 0) AS busy_pct,
       (duration_ns - median_ns) / nullif(1.4826 * mad_ns, 0) AS score,
       coalesce(score > 3.5, false) AND duration_ns > 1.05 * median_ns AND NOT is_open AS is_outlier
FROM scored
JOIN parts USING (process_id, gpu, step)
ORDER BY scored.gpu, scored.process_id, scored.step;

-- merge
FROM partial
ORDER BY gpu, process_id, step
