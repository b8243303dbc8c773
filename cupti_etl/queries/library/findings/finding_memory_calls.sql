-- How long each GPU was idle while its host allocated, freed or copied.
--
-- computed: memory_ns of gap_attribution. The culprit is the function of CUDA in which most of it
--   was, of all threads together.
-- needs: _gap_cause, _host_span, _blocking_copy
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- finding: idle while the host allocates, frees or copies (measured)
-- advice: allocate once and reuse, or use a pool; copy and set less often, and more at once
-- shown: gap_attribution
-- lookup: _host_span, _blocking_copy
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH gaps AS (
    SELECT gpu, process_id, start_ns, start_ns + gap_ns - queued_ns AS end_ns, memory_ns,
           coalesce(sum(gap_ns - queued_ns) OVER (
               PARTITION BY gpu, process_id ORDER BY start_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), 0) AS before_ns
    FROM _gap_cause
),
calls AS (
    SELECT process_id, name, start_ns, end_ns
    FROM _host_span
    ANTI JOIN (SELECT * FROM _blocking_copy WHERE is_done) USING (process_id, correlation_id)
    WHERE class = 3 AND start_ns IS NOT NULL AND end_ns IS NOT NULL
),
waiting AS (
    SELECT gpu, calls.*
    FROM calls
    JOIN (SELECT DISTINCT gpu, process_id FROM gaps) AS used USING (process_id)
),
edges AS (
    SELECT gpu, process_id, name, start_ns AS at_ns, -1 AS sign FROM waiting
    UNION ALL
    SELECT gpu, process_id, name, greatest(start_ns, end_ns), 1 FROM waiting
),
spent AS (
    SELECT gpu, arg_min(name, (-ns, name)) AS name
    FROM (
        SELECT edges.gpu, name,
               sum(sign * (before_ns + least(at_ns, gaps.end_ns) - gaps.start_ns)) AS ns
        FROM edges
        ASOF JOIN gaps
            ON gaps.gpu = edges.gpu
            AND gaps.process_id = edges.process_id
            AND gaps.start_ns <= edges.at_ns
        GROUP BY edges.gpu, name
    )
    WHERE ns > 0
    GROUP BY gpu
)
SELECT sums.gpu, saved_ns, 'most of it in ' || name AS culprit
FROM (
    SELECT gpu, TRY_CAST(sum(memory_ns) AS BIGINT) AS saved_ns FROM gaps GROUP BY gpu
) AS sums
LEFT JOIN spent ON spent.gpu = sums.gpu
