-- Steps of a training or inference loop on each GPU: from NVTX, or guessed from the kernels.
--
-- computed: Ranges of people and frameworks that asked for work come first: ProfilerStep#N and
--   vLLM's execute_..., then those called step (or, by frameworks, run_training_batch, run_batch,
--   execute_model), iteration or batch, then outermost ones with rising numbers in one name, then
--   steps of optimizers and epochs, then a module that XLA ran three times or more (jit_update of
--   JAX); of equals those with most time on the host. Frames of Python, operators, layers and what
--   XLA's autotuner tries are none, nor functions of autograd (emit_nvtx). A step is on the GPU
--   from the first activity that it asked for to that of the next step; where its work goes on for
--   more than a tenth of a step after that (medians), as inputs are copied ahead, from the first on
--   the stream on which most of the work is that its own thread asked for. What comes after an
--   optimizer began for the last time is none, unless it takes most of the step. In processes
--   without them, after what that tried, the rarest kernel that came at least 5 times at regular
--   distances (3 of 4 within a quarter of their median, with half of all kernels between the first
--   and the last), with about as many kernels each time (3 of 4 within a tenth of the median, 3 or
--   more): a step is from one to the next. If two of them were launched by one call or by one
--   forward pass, these are layers, and no steps. The steady state begins with the first step, of
--   the first half, from which on steps take as long as those of the later half do (their median,
--   give or take 4 deviations or a tenth; a quarter of fewer than 5; of two steps, twice its
--   length), if those before took longer.
-- needs: _range_span, _hlo_range, range_gpu, gpu_interval, api_call, _readable_name
-- materialized: Made once for an opened trace, as it is searched in all kernels.
-- limits: With kernels, what came before the first and after the last of them is in no step, and
--   layers of a model are as regular as steps: see confidence. Where no period is found there is
--   no row.
-- scope: start_ns
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
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
WITH passes AS (
    -- Outermost ranges of forward passes, of whomever.
    SELECT process_id, thread_id, range_id, start_ns, end_ns
    FROM _range_span
    WHERE regexp_matches(name, '(?i)(^|[^a-z])forward([^a-z]|$)')
    QUALIFY coalesce(start_ns >= max(end_ns) OVER (
        PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC, range_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), true)
),
spans AS (
    -- Of XLA's, those of modules that the program runs.
    SELECT _range_span.* REPLACE (coalesce(hlo_module, name) AS name),
           hlo_module IS NOT NULL AS is_xla
    FROM _range_span
    LEFT JOIN (SELECT range_id, kind, phase, hlo_module FROM _hlo_range) AS hlo
        ON hlo.range_id = _range_span.range_id
    WHERE hlo.range_id IS NULL
        OR (hlo.kind = 'module' AND hlo.phase = 'program' AND hlo_module IS NOT NULL)
),
people AS (
    SELECT process_id, thread_id, range_id, name, start_ns, end_ns, is_xla,
           regexp_replace(name, '[0-9]+', '', 'g') AS stem,
           try_cast(regexp_extract(name, '[0-9]+') AS BIGINT) AS number,
           coalesce(start_ns >= max(coalesce(end_ns, 9223372036854775807)) OVER (
               PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC, range_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), true) AS is_outermost
    FROM spans
    WHERE coalesce(domain, '') NOT IN ('python_function', 'cpu_op', 'Operator', 'operator', 'Trace',
                                       'pytorch.operator', 'pytorch.backward')
        AND NOT contains(name, '::')
        AND NOT regexp_matches(
            name, '\.py\([0-9]+\)|^<built-in |^nn\.Module|, (seq|op_id) = [0-9]+(,|$)'
        )
),
-- What a name says: 1 the most, NULL nothing.
named AS (
    SELECT people.*,
           CASE WHEN regexp_matches(name, '^ProfilerStep#[0-9]+$|^execute_.*(context|generation)_')
                THEN 1
                -- Lightning, SGLang, vLLM.
                WHEN regexp_matches(
                    name,
                    '(?i)run_(training_)?batch$|(^|[.: ])execute_model$|forward_batch_generation'
                ) THEN 2
                WHEN regexp_matches(name, '(?i)optimi[sz]er|scheduler') THEN 6
                WHEN regexp_matches(name, '(?i)(^|[^a-z])steps?([^a-z]|$)') THEN 2
                WHEN regexp_matches(name, '(?i)(^|[^a-z])(iter|iteration)s?([^a-z]|$)') THEN 3
                WHEN regexp_matches(name, '(?i)(^|[^a-z])batch(es)?([^a-z]|$)')
                     AND NOT regexp_matches(name, '(?i)batch.?norm|micro') THEN 4
                WHEN regexp_matches(name, '(?i)(^|[^a-z])epochs?([^a-z]|$)') THEN 7
                WHEN is_xla THEN 8
                WHEN number IS NOT NULL AND is_outermost
                     AND coalesce(passes.end_ns <= people.start_ns, true)
                     AND NOT regexp_matches(name, '^[A-Z][A-Za-z0-9]*?_?[0-9]+$')
                     AND NOT regexp_matches(
                         name, '(?i)layer|block|stage|module|head|expert|chunk|micro|bucket'
                     ) THEN 5 END AS rank,
           coalesce(number > lag(number) OVER (
               PARTITION BY people.process_id, people.thread_id, stem
               ORDER BY people.start_ns, people.range_id
           ), true) AS is_rising
    FROM people
    ASOF LEFT JOIN passes
        ON passes.process_id = people.process_id
        AND passes.thread_id = people.thread_id
        AND passes.start_ns <= people.start_ns
),
stems AS (
    SELECT process_id, stem, rank
    FROM named
    SEMI JOIN range_gpu USING (range_id)
    WHERE rank IS NOT NULL
    GROUP BY process_id, stem, rank
    HAVING CASE WHEN rank <= 2 THEN true
                WHEN rank = 5 THEN count(*) >= 3 AND bool_and(is_rising)
                WHEN rank = 8 THEN count(*) >= 3
                ELSE count(*) >= 2 END
    QUALIFY row_number() OVER (
        PARTITION BY process_id
        ORDER BY rank = 1 DESC, count(*) >= 2 DESC, rank, sum(end_ns - start_ns) DESC, stem
    ) = 1
),
asked AS (
    SELECT named.process_id, work.gpu, named.name, work.start_ns, work.end_ns, named.range_id,
           named.thread_id, named.start_ns AS from_ns, named.end_ns AS until_ns,
           named.rank = 6 AS is_end
    FROM named
    SEMI JOIN stems USING (process_id, stem, rank)
    JOIN range_gpu AS work ON work.range_id = named.range_id
),
-- Where the work of a step goes on for long after the first of the next, as inputs are copied
-- ahead, a step begins where its main stream does.
overlapping AS (
    SELECT process_id, gpu
    FROM (
        SELECT *, lead(start_ns) OVER (
                   PARTITION BY process_id, gpu ORDER BY start_ns, range_id
               ) AS next_ns
        FROM asked
    )
    WHERE next_ns IS NOT NULL
    GROUP BY process_id, gpu
    HAVING median(end_ns - next_ns) > median(next_ns - start_ns) / 10
),
ahead AS (
    SELECT asked.* FROM asked SEMI JOIN overlapping USING (process_id, gpu)
),
streams AS (
    SELECT ahead.range_id, ahead.gpu, context_id, stream_id, min(act.start_ns) AS start_ns,
           sum(act.end_ns - act.start_ns) AS work_ns
    FROM (FROM api_call WHERE process_id IN (SELECT process_id FROM overlapping)) AS call
    ASOF JOIN ahead
        ON ahead.process_id = call.process_id
        AND ahead.thread_id = call.thread_id
        AND ahead.from_ns <= call.start_ns
    JOIN (FROM gpu_interval WHERE process_id IN (SELECT process_id FROM overlapping)) AS act
        ON act.process_id = call.process_id
        AND act.correlation_id = call.correlation_id
        AND act.gpu = ahead.gpu
    WHERE call.start_ns < ahead.until_ns AND act.start_ns >= call.start_ns
    GROUP BY ahead.range_id, ahead.gpu, context_id, stream_id
),
mains AS (
    SELECT range_id, gpu, arg_max(start_ns, (work_ns, -start_ns)) AS start_ns
    FROM streams
    GROUP BY range_id, gpu
),
marked AS (
    SELECT asked.process_id, asked.gpu, name, end_ns, from_ns, until_ns, is_end,
           coalesce(mains.start_ns, asked.start_ns) AS start_ns
    FROM asked
    LEFT JOIN mains ON mains.range_id = asked.range_id AND mains.gpu = asked.gpu
),
-- What XLA's autotuner tries comes again and again, too.
tuned AS (
    SELECT process_id, max(end_ns) AS end_ns
    FROM _hlo_range
    WHERE phase = 'autotuning'
    GROUP BY process_id
),
kernels AS (
    SELECT act.process_id, gpu, name, act.start_ns, correlation_id
    FROM gpu_interval AS act
    LEFT JOIN tuned ON tuned.process_id = act.process_id
    WHERE kind = 'kernel' AND act.process_id NOT IN (SELECT process_id FROM marked)
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
launched AS (
    SELECT process_id, gpu, correlation_id AS id, count(*) AS n
    FROM begun
    WHERE correlation_id IS NOT NULL
    GROUP BY process_id, gpu, correlation_id
    UNION ALL
    SELECT begun.process_id, begun.gpu, passes.range_id, count(*)
    FROM begun
    JOIN calls
        ON calls.process_id = begun.process_id
        AND calls.correlation_id = begun.correlation_id
    ASOF JOIN passes
        ON passes.process_id = calls.process_id
        AND passes.thread_id = calls.thread_id
        AND passes.start_ns <= calls.at_ns
    WHERE calls.at_ns < passes.end_ns
    GROUP BY begun.process_id, begun.gpu, passes.range_id
),
layers AS (
    SELECT process_id, gpu FROM launched WHERE n > 1
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
),
found AS (
    SELECT process_id, gpu, 'nvtx' AS source, name, start_ns, coalesce(next_ns, end_ns) AS end_ns,
           from_ns AS host_start_ns, coalesce(next_from_ns, until_ns) AS host_end_ns,
           1.0::DOUBLE AS confidence
    FROM (
        SELECT *, lead(start_ns) OVER (PARTITION BY process_id, gpu ORDER BY start_ns) AS next_ns,
               lead(from_ns) OVER (PARTITION BY process_id, gpu ORDER BY from_ns) AS next_from_ns
        FROM marked
    )
    WINDOW loop AS (PARTITION BY process_id, gpu)
    -- Optimizers run at the end of a step, if they do not run most of it (Lightning).
    QUALIFY NOT is_end OR next_ns IS NOT NULL
        OR 2 * median(until_ns - from_ns) OVER loop > median(next_from_ns - from_ns) OVER loop
    UNION ALL
    SELECT process_id, gpu, 'kernels', name, start_ns, end_ns, at_ns, next_ns,
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
            LEFT JOIN calls
                ON calls.process_id = begun.process_id
                AND calls.correlation_id = begun.correlation_id
        )
    )
    ANTI JOIN layers USING (process_id, gpu)
    JOIN even USING (process_id, gpu)
    LEFT JOIN returned USING (process_id, gpu)
    WHERE end_ns IS NOT NULL
),
numbered AS MATERIALIZED (
    SELECT *, row_number() OVER loop - 1 AS step, count(*) OVER (PARTITION BY process_id, gpu) AS n
    FROM found
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
-- Where a step takes as long as these do, and of it and the next four at least four do.
settled AS (
    SELECT process_id, gpu, min(step) AS first_step
    FROM (
        SELECT process_id, gpu, step, n, is_like, avg(is_like::INTEGER) OVER (
                   PARTITION BY process_id, gpu ORDER BY step
                   ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING
               ) AS share
        FROM (
            SELECT numbered.*, abs(end_ns - start_ns - median_ns) <= spread_ns AS is_like
            FROM numbered
            JOIN later ON later.process_id = numbered.process_id AND later.gpu = numbered.gpu
        )
    )
    WHERE is_like AND share >= 0.8 AND step <= n // 2
    GROUP BY process_id, gpu
),
-- A warm-up is slower than what follows.
warm AS (
    SELECT process_id, gpu, first_step
    FROM numbered
    JOIN settled USING (process_id, gpu)
    JOIN later USING (process_id, gpu)
    WHERE step < first_step
    GROUP BY process_id, gpu, first_step
    HAVING median(end_ns - start_ns) > any_value(median_ns)
)
SELECT numbered.process_id, numbered.gpu, step, source, coalesce(short, name) AS name,
       start_ns, end_ns, host_start_ns, host_end_ns, confidence,
       step >= coalesce(first_step, 0) AS is_steady
FROM numbered
LEFT JOIN _readable_name AS names
    ON mangled = name AND source = 'kernels'
LEFT JOIN warm ON warm.process_id = numbered.process_id AND warm.gpu = numbered.gpu
