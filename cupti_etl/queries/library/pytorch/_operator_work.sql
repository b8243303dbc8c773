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
    SELECT _operator.range_id, parent_range_id, place,
           _operator.end_ns - _operator.start_ns AS host_ns,
           own.start_ns AS self_start_ns, device_id, coalesce(api_calls, 0) AS api_calls,
           coalesce(api_ns, 0) AS api_ns, name, external_id, end_ns, is_crossed
    FROM _operator
    LEFT JOIN _operator_own AS own ON own.range_id = _operator.range_id
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
)
SELECT work.range_id, self_launches, self_gpu_ns, self_start_ns, device_id, launches, kernels,
       gpu_ns, CASE WHEN self_gpu_ns IS NOT NULL THEN backward_gpu_ns END AS backward_gpu_ns,
       TRY_CAST(work.host_ns - api_ns - coalesce(inside.host_ns, 0) AS BIGINT) AS self_host_ns,
       work.host_ns, outermost.of_range_id AS repeats_range_id
FROM work
JOIN _operator_held AS held ON held.range_id = work.range_id
LEFT JOIN _operator_backward AS backward ON backward.range_id = work.range_id
LEFT JOIN inside ON inside.range_id = work.range_id
LEFT JOIN outermost ON outermost.range_id = work.range_id
