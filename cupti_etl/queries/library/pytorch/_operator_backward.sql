-- What the backward pass of each operator of PyTorch, and of those inside it, took on the GPUs.
--
-- computed: The backward pass of an operator is that of _operator_forward; its time is that of the
--   whole pass.
-- limits: Where neither it nor an operator inside has a sequence number, or several threads have
--   one of these, it is not here.
-- scope: whole
-- columns:
--   range_id BIGINT: The range of the operator of the forward pass, as in nvtx_range.
--   backward_gpu_ns BIGINT [ns]: Sum of the durations of finished activities.
WITH backward AS (
    SELECT forward_range_id AS range_id, sum(gpu_ns) AS backward_ns
    FROM _operator_forward AS pass
    JOIN _operator_held AS held ON held.range_id = pass.range_id
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
marked AS (
    SELECT _operator.range_id, place, last_place, coalesce(backward_ns, 0) AS backward_ns,
           coalesce(sequence >= 0 AND NOT is_backward, false)::TINYINT AS numbered,
           (unclear.range_id IS NOT NULL)::TINYINT AS unclear
    FROM _operator
    LEFT JOIN backward ON backward.range_id = _operator.range_id
    LEFT JOIN unclear ON unclear.range_id = _operator.range_id
),
-- Of all that began by then.
sums AS MATERIALIZED (
    SELECT *, sum(COLUMNS('^(backward_ns|numbered|unclear)$')) OVER line AS "by_\0"
    FROM marked
    WINDOW line AS (ORDER BY place ROWS UNBOUNDED PRECEDING)
)
SELECT sums.range_id,
       TRY_CAST(last.by_backward_ns - sums.by_backward_ns + sums.backward_ns AS BIGINT)
           AS backward_gpu_ns
FROM sums
JOIN sums AS last ON last.place = sums.last_place
WHERE last.by_numbered - sums.by_numbered + sums.numbered > 0
    AND last.by_unclear - sums.by_unclear + sums.unclear = 0
