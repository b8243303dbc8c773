-- Steps of a training or inference loop on each GPU: from NVTX, or guessed from the kernels.
--
-- computed: Ranges that are steps (_step_range) where a process has some, else a guess from its
--   kernels (_step_guess). A step is on the GPU from the first activity that it asked for to that
--   of the next step. Where ranges may be a part of a step (is_part), what comes after the last has
--   begun is none, unless they take most of the step. Before a time that was not recorded, a step
--   ends with the last activity, and a guessed one is none. The steady state begins with the first
--   step, of the first half, from which on steps take no longer than those of the later half do
--   (their median and 4 deviations or a tenth; a quarter of fewer than 5; of two steps, twice its
--   length), nor less than half as long, if those before took longer; in processes or GPUs with as
--   many steps, as ranks have, with the latest of these.
-- materialized: Made once for an opened trace, as it is searched in all kernels.
-- limits: With kernels, what came before the first and after the last of them is in no step, and
--   layers of a model are as regular as steps: see confidence. Where no period is found there is
--   no row.
-- scope: start_ns
-- columns:
--   process_id, gpu of _step_range
--   step BIGINT: Number of the step in its process and GPU, from 0.
--   source VARCHAR: nvtx or kernels.
--   name VARCHAR: Name of the range, of a range of XLA that of its module, or that of the
--     kernel that a step begins with, as in kernel_named.short.
--   start_ns BIGINT [epoch ns]: When it began on the GPU.
--   end_ns BIGINT [epoch ns]: When it ended there.
--   host_start_ns BIGINT [epoch ns]: When the host began to ask for it: the begin of the range, or
--     of the call that launched the kernel; NULL if that is not known.
--   host_end_ns BIGINT [epoch ns]: When it began to ask for the next, or when the range ended; NULL
--     if that is not known.
--   confidence DOUBLE: 1 for ranges. A guess from kernels has the least of the shares of regular
--     distances, of like counts and of the kernels that are covered, times 0.8 if each step copies
--     something back to the host, as a loop over steps does, down to 0.4 if none does.
--   is_steady BOOLEAN: Whether it comes after the warm-up.
WITH found AS (
    SELECT process_id, gpu, 'nvtx' AS source, name, start_ns, coalesce(next_ns, end_ns) AS end_ns,
           from_ns AS host_start_ns, coalesce(next_from_ns, until_ns) AS host_end_ns, until_ns,
           1.0::DOUBLE AS confidence
    FROM (
        SELECT *, lead(start_ns) OVER (PARTITION BY process_id, gpu ORDER BY start_ns) AS next_ns,
               lead(from_ns) OVER (PARTITION BY process_id, gpu ORDER BY from_ns) AS next_from_ns
        FROM _step_range
    )
    WINDOW loop AS (PARTITION BY process_id, gpu)
    -- A part is the end of a step, or its begin, if it does not take most of it (Lightning).
    QUALIFY NOT is_part OR next_ns IS NOT NULL
        OR 2 * median(until_ns - from_ns) OVER loop > median(next_from_ns - from_ns) OVER loop
    UNION ALL
    SELECT process_id, gpu, 'kernels', name, start_ns, end_ns, from_ns, next_from_ns, NULL,
           confidence
    FROM _step_guess
),
-- When the next one after a time without records began says not how long a step took.
recorded AS (
    SELECT found.* EXCLUDE (end_ns, host_end_ns), least(found.end_ns, seen.end_ns) AS end_ns,
           CASE WHEN seen.end_ns < found.end_ns THEN until_ns ELSE host_end_ns END AS host_end_ns
    FROM found
    ASOF LEFT JOIN _parted_span AS seen
        ON seen.gpu = found.gpu AND seen.start_ns <= found.start_ns
    WHERE coalesce(seen.end_ns >= found.end_ns, true) OR source = 'nvtx'
),
numbered AS MATERIALIZED (
    SELECT *, row_number() OVER loop - 1 AS step, count(*) OVER (PARTITION BY process_id, gpu) AS n
    FROM recorded
    WINDOW loop AS (PARTITION BY process_id, gpu ORDER BY start_ns)
),
-- How long the later half of the steps takes.
later AS (
    SELECT process_id, gpu, median(end_ns - start_ns) AS median_ns,
           -- Of two steps, the last has no idle time at its end, and says little of the first.
           greatest(4 * 1.4826 * mad(end_ns - start_ns),
                    median(end_ns - start_ns) * CASE WHEN count(*) = 1 THEN 1
                        WHEN count(*) < 5 THEN 0.25 ELSE 0.1 END) AS spread_ns
    FROM numbered
    WHERE step >= n // 2
    GROUP BY process_id, gpu
),
-- Where a step takes no longer than these, and of the next four, or fewer at the end, all but one.
settled AS (
    SELECT process_id, gpu, min(step) AS first_step, any_value(median_ns) AS median_ns
    FROM (
        SELECT process_id, gpu, step, median_ns,
               end_ns - start_ns BETWEEN least(median_ns / 2, median_ns - spread_ns)
                   AND median_ns + spread_ns AS is_like
        FROM numbered
        JOIN later USING (process_id, gpu)
        QUALIFY is_like AND step <= n // 2 AND count(*) FILTER (WHERE NOT is_like) OVER (
            PARTITION BY process_id, gpu ORDER BY step ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING
        ) <= 1
    )
    GROUP BY process_id, gpu
),
-- A warm-up is slower than what follows.
warm AS (
    SELECT process_id, gpu, first_step
    FROM numbered
    JOIN settled USING (process_id, gpu)
    WHERE step < first_step
    GROUP BY process_id, gpu, first_step
    HAVING median(end_ns - start_ns) > any_value(median_ns)
)
SELECT numbered.process_id, numbered.gpu, step, source, coalesce(short, name) AS name,
       start_ns, end_ns, host_start_ns, host_end_ns, confidence,
       step >= coalesce(max(first_step) OVER (PARTITION BY n), 0) AS is_steady
FROM numbered
LEFT JOIN _readable_name AS names
    ON mangled = name AND source = 'kernels'
LEFT JOIN warm ON warm.process_id = numbered.process_id AND warm.gpu = numbered.gpu
