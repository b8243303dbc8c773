-- How long each GPU was seen, and how long it was idle in that time.
--
-- computed: The lengths of _gpu_span and of the gaps of _gap_edge, as busy_breakdown has them from
--   what is between the gaps: for what reads the gaps anyway.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   idle_ns BIGINT [ns]: How long nothing ran.
--   span_ns BIGINT [ns]: How long the GPU was seen.
WITH gaps AS (
    SELECT gpu, TRY_CAST(sum(gap_ns) AS BIGINT) AS idle_ns FROM _gap_edge GROUP BY gpu
),
spans AS (
    SELECT gpu, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS span_ns FROM _gpu_span GROUP BY gpu
)
SELECT spans.gpu, coalesce(idle_ns, 0) AS idle_ns, span_ns
FROM spans
LEFT JOIN gaps ON gaps.gpu = spans.gpu
