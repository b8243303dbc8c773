-- What the host did step by step, on each GPU: the ranges that are steps, and what they asked for.
--
-- computed: Ranges of people and frameworks that asked for work: ProfilerStep#N and vLLM's
--   execute_..., then those called step (or, by frameworks, run_training_batch, run_batch,
--   execute_model), iteration or batch, then outermost ones of one thread with rising numbers in
--   one name, then steps of optimizers and epochs, then a module that XLA ran three times or
--   more (jit_update of JAX); of equals those with most time on the host, and of modules that with
--   most on the GPUs, as the first run of a module takes the host long. Frames of Python,
--   operators, layers, what is called a warm-up and what XLA's autotuner tries are none, nor
--   functions of autograd (emit_nvtx). Of two optimizers in turn, as a GAN has, the first stands
--   for both: where after every second, and not after each, as many activities come, give or take a
--   tenth (3 of 4 times). A step is on the GPU from the first activity that it asked for; where its
--   work goes on for more than a tenth of a step after that of the next began (medians), as inputs
--   are copied ahead, from the first on the stream on which most of the work is that its own thread
--   asked for. On a GPU for which other threads ask alone (DataParallel), its work is what was
--   asked for since it began.
-- requires: marker
-- materialized: Made once for an opened trace, as steps and guesses read it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Name of the range; of a range of XLA that of its module.
--   start_ns BIGINT [epoch ns]: When its work began on the GPU.
--   end_ns BIGINT [epoch ns]: When its work ended there.
--   from_ns BIGINT [epoch ns]: When the host began with it.
--   until_ns BIGINT [epoch ns]: When the host ended with it.
--   is_part BOOLEAN: Whether it may be a part of a step alone: an optimizer, or a range with a
--     rising number, if such asked for less than half of the work.
WITH spans AS (
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
           TRY_CAST(regexp_extract_all(name, '[0-9]+') AS BIGINT[]) AS numbers,
           coalesce(start_ns >= max(coalesce(end_ns, 9223372036854775807)) OVER (
               PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC, range_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), true) AS is_outermost
    FROM spans
    WHERE coalesce(domain, '') NOT IN ('python_function', 'cpu_op', 'Operator', 'operator', 'Trace',
                                       'pytorch.operator', 'pytorch.backward')
        AND NOT regexp_matches(
            name, '::|\.py\([0-9]+\)|^<built-in |^nn\.Module|, (seq|op_id) = [0-9]+(,|$)'
        )
),
-- What a name says: 1 the most, NULL nothing.
named AS (
    SELECT people.*,
           CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])warm[ _-]?ups?([^a-z]|$)') THEN NULL
                WHEN regexp_matches(name, '^ProfilerStep#[0-9]+$|^execute_.*(context|generation)_')
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
                WHEN len(numbers) > 0 AND is_outermost
                     AND coalesce(passes.end_ns <= people.start_ns, true)
                     AND NOT regexp_matches(
                         name, '^[A-Z][A-Za-z0-9]*?_?[0-9]+$|'
                               '(?i:layer|block|stage|module|head|expert|chunk|micro|bucket)'
                     ) THEN 5 END AS rank,
           coalesce(numbers > lag(numbers) OVER (
               PARTITION BY people.process_id, people.thread_id, stem
               ORDER BY people.start_ns, people.range_id
           ), true) AS is_rising
    FROM people
    ASOF LEFT JOIN _forward_pass AS passes
        ON passes.process_id = people.process_id
        AND passes.thread_id = people.thread_id
        AND passes.start_ns <= people.start_ns
),
stems AS (
    SELECT process_id, stem, rank
    FROM named
    JOIN (SELECT range_id, sum(gpu_ns) AS gpu_ns FROM range_gpu GROUP BY range_id) USING (range_id)
    WHERE rank IS NOT NULL
    GROUP BY process_id, stem, rank
    HAVING CASE WHEN rank <= 2 THEN true
                WHEN rank = 5 THEN count(*) >= 3 AND bool_and(is_rising)
                                   AND min(thread_id) = max(thread_id)
                WHEN rank = 8 THEN count(*) >= 3
                ELSE count(*) >= 2 END
    QUALIFY row_number() OVER (
        PARTITION BY process_id
        ORDER BY rank = 1 DESC, count(*) >= 2 DESC, rank,
                 sum(CASE WHEN is_xla THEN gpu_ns ELSE end_ns - start_ns END) DESC, stem
    ) = 1
),
asked AS (
    SELECT named.process_id, work.gpu, named.name, work.start_ns, work.end_ns, named.range_id,
           named.thread_id, named.start_ns AS from_ns, named.end_ns AS until_ns,
           work.activities, named.rank
    FROM named
    SEMI JOIN stems USING (process_id, stem, rank)
    JOIN range_gpu AS work ON work.range_id = named.range_id
),
-- Two optimizers of one class: as much work follows every second, and not each.
turns AS (
    SELECT process_id, range_id, min(start_ns) AS start_ns,
           row_number() OVER (PARTITION BY process_id ORDER BY min(start_ns), range_id) - 1 AS turn
    FROM asked
    WHERE rank = 6
    GROUP BY process_id, range_id
),
followed AS (
    SELECT act.process_id, turn, count(*) AS activities
    FROM (FROM gpu_interval WHERE process_id IN (SELECT process_id FROM turns)) AS act
    -- A hundred tell; the first two make what they keep.
    ASOF JOIN (FROM turns WHERE turn <= 100) AS turns
        ON turns.process_id = act.process_id AND turns.start_ns <= act.start_ns
    WHERE act.start_ns < (SELECT max(start_ns) FROM turns WHERE turn <= 100)
    GROUP BY act.process_id, turn
    HAVING turn >= 2
),
pairs AS (
    SELECT process_id
    FROM (
        SELECT *, lead(activities) OVER later AS next, lead(activities, 2) OVER later AS second
        FROM followed
        WINDOW later AS (PARTITION BY process_id ORDER BY turn)
        -- What follows the last is not complete.
        QUALIFY turn < max(turn) OVER (PARTITION BY process_id)
    )
    GROUP BY process_id
    HAVING count(*) >= 4
        AND avg(CASE WHEN abs(second - activities) * 10 <= activities THEN 1.0
                     WHEN second IS NOT NULL THEN 0.0 END) >= 0.75
        AND avg(CASE WHEN abs(next - activities) * 10 > activities THEN 1.0
                     WHEN next IS NOT NULL THEN 0.0 END) >= 0.75
),
-- Ranges with rising numbers may be a part of a step: more than half of the work is of others.
parts AS (
    SELECT process_id
    FROM (
        SELECT process_id, min(start_ns) AS first_ns, max(start_ns) AS last_ns,
               sum(activities) - arg_max(activities, start_ns) AS own
        FROM asked
        WHERE rank = 5
        GROUP BY process_id
    ) AS numbered
    JOIN gpu_interval AS act USING (process_id)
    WHERE act.start_ns >= first_ns AND act.start_ns < last_ns
    GROUP BY process_id
    HAVING count(*) > 2 * any_value(own)
),
chosen AS (
    SELECT asked.*, rank = 6 OR asked.process_id IN (FROM parts) AS is_part
    FROM asked
    ANTI JOIN (FROM turns SEMI JOIN pairs USING (process_id) WHERE turn % 2 = 1) AS seconds
        ON seconds.process_id = asked.process_id AND seconds.range_id = asked.range_id
),
-- Where the work of a step goes on for long after the first of the next, as inputs are copied
-- ahead, a step begins where its main stream does.
overlapping AS (
    SELECT process_id, gpu
    FROM (
        SELECT *, lead(start_ns) OVER (
                   PARTITION BY process_id, gpu ORDER BY start_ns, range_id
               ) AS next_ns
        FROM chosen
    )
    WHERE next_ns IS NOT NULL
    GROUP BY process_id, gpu
    HAVING median(end_ns - next_ns) > median(next_ns - start_ns) / 10
),
ahead AS (
    SELECT chosen.* FROM chosen SEMI JOIN overlapping USING (process_id, gpu)
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
others AS (
    SELECT process_id, gpu
    FROM gpu
    SEMI JOIN chosen USING (process_id)
    ANTI JOIN chosen USING (process_id, gpu)
)
SELECT chosen.process_id, chosen.gpu, name, coalesce(mains.start_ns, chosen.start_ns) AS start_ns,
       end_ns, from_ns, until_ns, is_part
FROM chosen
LEFT JOIN mains ON mains.range_id = chosen.range_id AND mains.gpu = chosen.gpu
UNION ALL
SELECT act.process_id, act.gpu, any_value(chosen.name), min(act.start_ns), max(act.end_ns), from_ns,
       any_value(until_ns), any_value(is_part)
FROM (FROM gpu_interval SEMI JOIN others USING (process_id, gpu)) AS act
JOIN (FROM api_call WHERE process_id IN (SELECT process_id FROM others)) AS call
    ON call.process_id = act.process_id AND call.correlation_id = act.correlation_id
ASOF JOIN chosen ON chosen.process_id = call.process_id AND chosen.from_ns <= call.start_ns
GROUP BY act.process_id, act.gpu, from_ns
