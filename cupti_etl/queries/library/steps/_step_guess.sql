-- Steps guessed from the kernels, of processes without ranges that are steps.
--
-- computed: After what XLA's autotuner tried, the rarest kernel that came at least 5 times at
--   regular distances (3 of 4 within a quarter of their median, with half of all kernels between
--   the first and the last), with about as many kernels each time (3 of 4 within a tenth of the
--   median, 3 or more): a step is from one to the next. If two of them were launched by one call
--   or by one forward pass, these are layers, and no steps.
-- requires:
--   _process_to_guess: each process with kernels has ranges that are steps, or none ran often.
-- limits: What came before the first and after the last of these kernels is in no step.
-- scope: whole
-- columns:
--   process_id, gpu of _step_range
--   name VARCHAR: Mangled name of the kernel that a step begins with.
--   start_ns BIGINT [epoch ns]: When it began on the GPU.
--   end_ns BIGINT [epoch ns]: When the next began there.
--   from_ns BIGINT [epoch ns]: When the host asked for that kernel; NULL if that is not known.
--   next_from_ns BIGINT [epoch ns]: When it asked for the next; NULL if that is not known.
--   confidence DOUBLE: The least of the shares of regular distances, of like counts and of the
--     kernels that are covered, times 0.8 if each step copies something back to the host, as a
--     loop over steps does, down to 0.4 if none does.
WITH tuned AS (
    -- What XLA's autotuner tries comes again and again, too.
    SELECT process_id, max(end_ns) AS end_ns
    FROM _hlo_range
    WHERE phase = 'autotuning'
    GROUP BY process_id
),
kernels AS (
    SELECT act.process_id, gpu, name, act.start_ns, correlation_id
    FROM gpu_interval AS act
    LEFT JOIN tuned ON tuned.process_id = act.process_id
    WHERE kind = 'kernel' AND act.process_id NOT IN (SELECT process_id FROM _step_range)
        AND coalesce(act.start_ns >= tuned.end_ns, true)
),
totals AS (
    SELECT process_id, gpu, count(*) AS n FROM kernels GROUP BY process_id, gpu
),
-- The rarest names are tried first: a name that comes twice a step would halve it.
rare AS (
    SELECT process_id, gpu, name, count(*) AS n
    FROM kernels
    GROUP BY process_id, gpu, name
    HAVING count(*) >= 5
    QUALIFY row_number() OVER (
        PARTITION BY process_id, gpu ORDER BY count(*), min(start_ns), name
    ) <= 8
),
distances AS (
    SELECT process_id, gpu, name, start_ns, correlation_id,
           lead(start_ns) OVER (PARTITION BY process_id, gpu, name ORDER BY start_ns) - start_ns
               AS distance_ns
    FROM kernels
    SEMI JOIN rare USING (process_id, gpu, name)
),
medians AS (
    SELECT process_id, gpu, name, median(distance_ns) AS median_ns
    FROM distances
    GROUP BY process_id, gpu, name
),
regular AS (
    SELECT distances.process_id, distances.gpu, distances.name, count(*) AS n,
           min(start_ns) AS first_ns, max(start_ns) AS last_ns,
           avg(CASE WHEN abs(distance_ns - median_ns) <= median_ns / 4 THEN 1.0
                    WHEN distance_ns IS NOT NULL THEN 0.0 END) AS regular
    FROM distances
    JOIN medians USING (process_id, gpu, name)
    GROUP BY distances.process_id, distances.gpu, distances.name
    HAVING regular >= 0.75
),
-- Of kernels and not of time: a program that starts for longer than it runs has steps, too.
anchors AS (
    SELECT regular.process_id, regular.gpu, regular.name, any_value(regular.regular) AS regular,
           count(*) / any_value(totals.n)::DOUBLE AS covered
    FROM kernels
    JOIN regular
        ON regular.process_id = kernels.process_id
        AND regular.gpu = kernels.gpu
        AND kernels.start_ns BETWEEN regular.first_ns AND regular.last_ns
    JOIN totals ON totals.process_id = regular.process_id AND totals.gpu = regular.gpu
    GROUP BY regular.process_id, regular.gpu, regular.name
    HAVING covered >= 0.5
    QUALIFY row_number() OVER (
        PARTITION BY regular.process_id, regular.gpu
        ORDER BY any_value(regular.n), any_value(regular.first_ns), regular.name
    ) = 1
),
begun AS (
    SELECT process_id, gpu, name, start_ns, start_ns + distance_ns AS end_ns, correlation_id,
           regular, covered
    FROM distances
    JOIN anchors USING (process_id, gpu, name)
),
-- The calls that launched what a step may begin with.
calls AS (
    SELECT process_id, correlation_id, any_value(thread_id) AS thread_id, min(start_ns) AS at_ns
    FROM api_call
    SEMI JOIN begun USING (process_id, correlation_id)
    GROUP BY process_id, correlation_id
),
-- What launched several of them, call or pass, has layers and no steps inside.
layers AS (
    SELECT process_id, gpu
    FROM begun
    WHERE correlation_id IS NOT NULL
    GROUP BY process_id, gpu, correlation_id
    HAVING count(*) > 1
    UNION ALL
    SELECT begun.process_id, begun.gpu
    FROM begun
    JOIN calls USING (process_id, correlation_id)
    ASOF JOIN _forward_pass AS passes
        ON passes.process_id = calls.process_id
        AND passes.thread_id = calls.thread_id
        AND passes.start_ns <= calls.at_ns
    WHERE calls.at_ns < passes.end_ns
    GROUP BY begun.process_id, begun.gpu, passes.range_id
    HAVING count(*) > 1
),
counted AS (
    SELECT begun.process_id, begun.gpu, begun.start_ns, count(*) AS kernels
    FROM kernels
    ASOF JOIN begun
        ON begun.process_id = kernels.process_id
        AND begun.gpu = kernels.gpu
        AND begun.start_ns <= kernels.start_ns
    WHERE begun.end_ns IS NOT NULL
    GROUP BY begun.process_id, begun.gpu, begun.start_ns
),
returned AS (
    SELECT begun.process_id, begun.gpu, count(DISTINCT begun.start_ns) AS steps
    FROM gpu_interval AS act
    ASOF JOIN begun
        ON begun.process_id = act.process_id
        AND begun.gpu = act.gpu
        AND begun.start_ns <= act.start_ns
    WHERE act.kind = 'memcpy' AND act.name = 'DtoH' AND act.start_ns < begun.end_ns
    GROUP BY begun.process_id, begun.gpu
),
-- Of each process and GPU, the share of steps that have about as many kernels as most.
even AS (
    SELECT process_id, gpu, count(*) AS steps,
           avg(CASE WHEN abs(kernels - median_kernels) <= median_kernels / 10 THEN 1.0
                    ELSE 0.0 END) AS even
    FROM (
        SELECT process_id, gpu, kernels,
               median(kernels) OVER (PARTITION BY process_id, gpu) AS median_kernels
        FROM counted
    )
    GROUP BY process_id, gpu
    HAVING even >= 0.75 AND any_value(median_kernels) >= 3
)
SELECT process_id, gpu, name, start_ns, end_ns, at_ns AS from_ns, next_ns AS next_from_ns,
       least(regular, even, covered)
           * (0.4 + 0.4 * coalesce(returned.steps, 0) / even.steps) AS confidence
FROM (
    SELECT *, lead(at_ns) OVER (PARTITION BY process_id, gpu ORDER BY start_ns) AS next_ns
    FROM (
        -- Where the call was not recorded, the host was no further than with the next.
        SELECT begun.*, min(at_ns) OVER (
                   PARTITION BY begun.process_id, gpu ORDER BY start_ns
                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
               ) AS at_ns
        FROM begun
        LEFT JOIN calls USING (process_id, correlation_id)
    )
)
ANTI JOIN layers USING (process_id, gpu)
JOIN even USING (process_id, gpu)
LEFT JOIN returned USING (process_id, gpu)
WHERE end_ns IS NOT NULL
