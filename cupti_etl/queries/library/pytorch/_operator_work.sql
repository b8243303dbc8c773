-- What each operator of PyTorch asked of the GPUs and took on the host, with and without the
-- operators inside it, and the backward pass of what it did.
--
-- computed: _operator_own, summed over the operator and all inside it; of an annotation, over all
--   calls in it, also those that are of an operator around it. The backward pass of an operator is
--   that of _operator_forward, with those of the operators inside it; its time is that of the whole
--   pass. What the host took by itself is without operators and API calls inside.
-- requires:
--   _operator: no operators were recorded (capture with --pytorch, or import a trace of PyTorch).
-- materialized: Made once for an opened trace, as it looks for the operator of every call.
-- limits: Where neither it nor an operator inside has a sequence number, or several threads have
--   one of these, what the backward pass took is not known. In a process with work on GPUs and no
--   recorded call, or with calls that launched and no recorded work, all launches, kernels and
--   times on GPUs are NULL.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   self_launches BIGINT [calls]: API calls that asked for work.
--   self_gpu_ns BIGINT [ns]: Sum of the durations of finished activities.
--   self_start_ns BIGINT [epoch ns]: First start of these; NULL if it asked for nothing.
--   device_id INTEGER: CUDA ordinal of the device on which that was.
--   launches BIGINT [calls]: The calls of operators inside, too; of an annotation, all in it.
--   kernels BIGINT [executions]: Finished kernels of these.
--   gpu_ns BIGINT [ns]: Sum of the durations of finished activities of these.
--   backward_gpu_ns BIGINT [ns]: gpu_ns of the backward passes; NULL if not known.
--   self_host_ns BIGINT [ns]: Time on the host, without operators and API calls inside.
--   host_ns BIGINT [ns]: Time on the host.
--   repeats_range_id BIGINT: The outermost operator of its name that does nothing but this; NULL if
--     there is none.
WITH RECURSIVE work AS MATERIALIZED (
    SELECT _operator.range_id, parent_range_id, place, last_place,
           _operator.end_ns - _operator.start_ns AS host_ns, own.start_ns AS self_start_ns,
           own.device_id,
           coalesce(sequence >= 0 AND NOT is_backward, false) AS is_numbered,
           CASE WHEN without.process_id IS NULL
                THEN coalesce(COLUMNS('^(innermost_)?(launches|kernels|gpu_ns)$'), 0) END,
           coalesce(api_calls, 0) AS api_calls, coalesce(api_ns, 0) AS api_ns, name, kind,
           external_id, end_ns, is_crossed
    FROM _operator
    LEFT JOIN _operator_own AS own ON own.range_id = _operator.range_id
    LEFT JOIN _process_without_links AS without ON without.process_id = _operator.process_id
),
-- Of all that began in it.
sums AS MATERIALIZED (
    SELECT *, sum(COLUMNS('^(innermost_)?(launches|kernels|gpu_ns)$')) OVER inside AS "all_\0"
    FROM work
    WINDOW inside AS (ORDER BY place ROWS BETWEEN CURRENT ROW AND last_place - place FOLLOWING)
),
-- What began in it and outlasts it is not inside.
beyond AS (
    SELECT ended.place, sum(COLUMNS(own.* EXCLUDE (place, end_ns)))
    FROM (SELECT place, last_place, end_ns FROM work WHERE is_crossed) AS ended
    JOIN (
        SELECT place, end_ns, COLUMNS('^(innermost_)?(launches|kernels|gpu_ns)$')
        FROM work
        WHERE is_crossed AND innermost_launches + launches > 0
    ) AS own
        ON own.place > ended.place
        AND own.place <= ended.last_place
        AND own.end_ns > ended.end_ns
    GROUP BY ended.place
),
totals AS MATERIALIZED (
    SELECT range_id, sums.place, last_place, host_ns, self_start_ns, device_id, is_numbered,
           sums.launches, sums.gpu_ns, api_ns,
           CASE kind WHEN 'annotation'
                THEN all_innermost_launches - coalesce(beyond.innermost_launches, 0)
                ELSE all_launches - coalesce(beyond.launches, 0) END AS all_launches,
           CASE kind WHEN 'annotation'
                THEN all_innermost_kernels - coalesce(beyond.innermost_kernels, 0)
                ELSE all_kernels - coalesce(beyond.kernels, 0) END AS all_kernels,
           CASE kind WHEN 'annotation'
                THEN all_innermost_gpu_ns - coalesce(beyond.innermost_gpu_ns, 0)
                ELSE all_gpu_ns - coalesce(beyond.gpu_ns, 0) END AS all_gpu_ns
    FROM sums
    LEFT JOIN beyond ON beyond.place = sums.place
),
-- What two that cross were in together counts once.
apart AS (
    SELECT parent_range_id, range_id, host_ns FROM work WHERE NOT is_crossed
    UNION ALL
    SELECT parent_range_id, range_id,
           least(host_ns, greatest(0, end_ns - coalesce(max(end_ns) OVER earlier, 0)))
    FROM work
    WHERE is_crossed
    WINDOW earlier AS (
        PARTITION BY parent_range_id ORDER BY place
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
inside AS (
    SELECT parent_range_id AS range_id, sum(host_ns) AS host_ns, min(range_id) AS first_id,
           count(*) AS ranges
    FROM apart
    WHERE parent_range_id IS NOT NULL
    GROUP BY parent_range_id
),
backward AS (
    SELECT forward_range_id AS range_id, sum(all_gpu_ns) AS backward_ns
    FROM _operator_forward AS pass
    JOIN totals ON totals.range_id = pass.range_id
    WHERE forward_range_id IS NOT NULL
    GROUP BY forward_range_id
),
doubtful AS (
    SELECT operator.process_id, operator.sequence
    FROM _operator_forward AS pass
    JOIN _operator AS operator ON operator.range_id = pass.range_id
    WHERE is_ambiguous
    GROUP BY operator.process_id, operator.sequence
),
unclear AS (
    SELECT range_id
    FROM _operator
    JOIN doubtful USING (process_id, sequence)
    WHERE NOT is_backward
),
repeats AS MATERIALIZED (
    SELECT inside.first_id AS range_id, inside.range_id AS of_range_id
    FROM inside
    JOIN work ON work.range_id = inside.range_id
    JOIN work AS only_one ON only_one.range_id = inside.first_id
    WHERE inside.ranges = 1 AND work.api_calls = 0 AND only_one.name = work.name
        -- Numbered before: it ended in the microsecond in which the other began.
        AND NOT coalesce(
            only_one.host_ns = 0 AND only_one.external_id < work.external_id, false
        )
),
outermost AS (
    SELECT range_id, of_range_id
    FROM repeats
    WHERE of_range_id NOT IN (SELECT range_id FROM repeats)
    UNION ALL
    SELECT repeats.range_id, outermost.of_range_id
    FROM outermost
    JOIN repeats ON repeats.of_range_id = outermost.range_id
),
back AS (
    SELECT totals.range_id, sum(coalesce(backward_ns, 0)) OVER inside AS backward_ns,
           bool_or(is_numbered) OVER inside AS is_numbered,
           count(unclear.range_id) OVER inside AS unclear
    FROM totals
    LEFT JOIN backward ON backward.range_id = totals.range_id
    LEFT JOIN unclear ON unclear.range_id = totals.range_id
    WINDOW inside AS (ORDER BY place ROWS BETWEEN CURRENT ROW AND last_place - place FOLLOWING)
)
SELECT totals.range_id, launches AS self_launches, gpu_ns AS self_gpu_ns, self_start_ns,
       device_id, all_launches::BIGINT AS launches, all_kernels::BIGINT AS kernels,
       TRY_CAST(all_gpu_ns AS BIGINT) AS gpu_ns,
       CASE WHEN back.is_numbered AND unclear = 0 AND gpu_ns IS NOT NULL
            THEN TRY_CAST(backward_ns AS BIGINT) END AS backward_gpu_ns,
       TRY_CAST(totals.host_ns - api_ns - coalesce(inside.host_ns, 0) AS BIGINT) AS self_host_ns,
       totals.host_ns, outermost.of_range_id AS repeats_range_id
FROM totals
JOIN back ON back.range_id = totals.range_id
LEFT JOIN inside ON inside.range_id = totals.range_id
LEFT JOIN outermost ON outermost.range_id = totals.range_id
