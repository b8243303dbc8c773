-- What each operator of PyTorch asked of the GPUs, with the operators inside it.
--
-- computed: _operator_own, summed over the operator and all inside it; of an annotation, over all
--   calls in it, also those that are of an operator around it.
-- materialized: What it takes is given back before more is made of it.
-- limits: In a process with work on GPUs and no recorded call, or with calls that launched and no
--   recorded work, what was asked for is NULL.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   launches BIGINT [calls]: API calls that asked for work.
--   kernels BIGINT [executions]: Finished kernels of these.
--   gpu_ns BIGINT [ns]: Sum of the durations of finished activities of these.
--   self_launches, self_gpu_ns of _operator_work
WITH own AS (
    SELECT _operator.range_id, place, last_place, kind, end_ns, is_crossed,
           CASE WHEN without.process_id IS NULL
                THEN coalesce(COLUMNS('^(innermost_)?(launches|kernels|gpu_ns)$'), 0) END
    FROM _operator
    LEFT JOIN _operator_own AS own ON own.range_id = _operator.range_id
    LEFT JOIN _process_without_links AS without ON without.process_id = _operator.process_id
),
-- What of all was asked for by then; the last that began in one has all that it holds.
sums AS MATERIALIZED (
    SELECT *, sum(COLUMNS('^(innermost_)?(launches|kernels|gpu_ns)$')) OVER line AS "by_\0"
    FROM own
    WINDOW line AS (ORDER BY place ROWS UNBOUNDED PRECEDING)
),
-- What began in it and outlasts it is not inside.
beyond AS (
    SELECT ended.place, sum(COLUMNS(own.* EXCLUDE (place, end_ns)))
    FROM (SELECT place, last_place, end_ns FROM sums WHERE is_crossed) AS ended
    JOIN (
        SELECT place, end_ns, COLUMNS('^(innermost_)?(launches|kernels|gpu_ns)$')
        FROM sums
        WHERE is_crossed AND innermost_launches + launches > 0
    ) AS own
        ON own.place > ended.place
        AND own.place <= ended.last_place
        AND own.end_ns > ended.end_ns
    GROUP BY ended.place
),
totals AS (
    SELECT range_id, sums.launches, sums.gpu_ns,
           CASE kind WHEN 'annotation'
                THEN last.by_innermost_launches - sums.by_innermost_launches
                    + sums.innermost_launches - coalesce(beyond.innermost_launches, 0)
                ELSE last.by_launches - sums.by_launches + sums.launches
                    - coalesce(beyond.launches, 0) END AS all_launches,
           CASE kind WHEN 'annotation'
                THEN last.by_innermost_kernels - sums.by_innermost_kernels
                    + sums.innermost_kernels - coalesce(beyond.innermost_kernels, 0)
                ELSE last.by_kernels - sums.by_kernels + sums.kernels
                    - coalesce(beyond.kernels, 0) END AS all_kernels,
           CASE kind WHEN 'annotation'
                THEN last.by_innermost_gpu_ns - sums.by_innermost_gpu_ns
                    + sums.innermost_gpu_ns - coalesce(beyond.innermost_gpu_ns, 0)
                ELSE last.by_gpu_ns - sums.by_gpu_ns + sums.gpu_ns
                    - coalesce(beyond.gpu_ns, 0) END AS all_gpu_ns
    FROM sums
    JOIN (SELECT place, COLUMNS('^by_') FROM sums) AS last ON last.place = sums.last_place
    LEFT JOIN beyond ON beyond.place = sums.place
)
SELECT range_id, all_launches::BIGINT AS launches, all_kernels::BIGINT AS kernels,
       TRY_CAST(all_gpu_ns AS BIGINT) AS gpu_ns, launches AS self_launches, gpu_ns AS self_gpu_ns
FROM totals
